import { sees } from '../../../runtime/identity.ts';
import { plainObject } from '../../../runtime/json.ts';
import { subjectOf } from '../inner-loop/audit.ts';
import { LOOP } from '../inner-loop/state.ts';
import type { Attest as AttestMessage, ExecutionTurn } from '../messages.ts';
import type { ExecutionState } from '../state.ts';

/** A container's host name is the beginning of its id, so agents may send that instead. */
const SHORT_ID = /^[0-9a-f]{12,64}$/;

const isNamed = (container: string, given: string): boolean =>
  given === container || (SHORT_ID.test(given) && container.startsWith(given));

/**
 * An agent attests itself (G12): the execution must run and belong to that agent, and `container_id` must be the container that
 * was started for it, or, without a container, the execution's id. The session is stored, because it ends with the execution.
 */
export function Attest(state: ExecutionState, attest: AttestMessage, turn: ExecutionTurn): ExecutionState {
  const { identity } = turn;
  const isSeen = state.status !== 'pending' && (identity === null || sees(identity, state.owner));
  if (state.status === 'pending' || !isSeen) return turn.refuse('not_found', 'execution not found');
  if (state.status !== 'running') return turn.refuse('failed_precondition', `the execution is ${state.status} already`);
  if (state.agent_id !== attest.agent_id)
    return turn.refuse('forbidden', 'agent_id: the execution is of another agent');
  const { plan, current, sessions, execution_id } = state;
  if (current.forwarded !== undefined) {
    return turn.refuse(
      'failed_precondition',
      'a worker outside of the fleet runs this execution: attest at that worker',
    );
  }
  const container = plan.container === null ? execution_id : current.container_id;
  if (container === undefined)
    return turn.refuse('failed_precondition', 'the container of the iteration does not run yet');
  if (!isNamed(container, attest.container_id)) {
    return turn.refuse('forbidden', 'container_id: expected the container that was started for the execution');
  }
  const known = sessions.includes(attest.session_id);
  if (!known && sessions.length >= LOOP.sessions) {
    return turn.refuse('limit_reached', `an execution has at most ${LOOP.sessions} sessions`);
  }
  turn.reply({
    subject: plainObject(subjectOf(state, attest.session_id)),
    grant_request: plainObject(plan.tools),
    expires_at: Date.parse(state.started_at) + plan.execution_timeout_ms,
  });
  return known ? state : { ...state, sessions: [...sessions, attest.session_id] };
}

import { plainObject } from '../../runtime/json.ts';
import type { ExecutionTurn, Start } from './messages.ts';
import type { Forwarded, IdleExecution, RunningExecution } from './state.ts';
import { nothingStreamed } from './streamed.ts';

/** Annotation: when the worker of a run is lost, another worker repeats it (`retry`), or the run fails (`fail`). */
const ON_IN_DOUBT = 'svc.dev/on-in-doubt';

/** Attempts to find a worker. They run out before the execution's time-out only if that is over a quarter of an hour. */
const RETRY = { maxAttempts: 100, initialDelayMs: 500, maxDelayMs: 20_000 } as const;

/** The part of a new run's state that sends it to a worker outside of the fleet. */
export const forwardedBy = ({ metadata }: Start['manifest'], tags: readonly string[]): Forwarded => ({
  tags: [...tags],
  on_lost: metadata.annotations[ON_IN_DOUBT] === 'fail' ? 'fail' : 'retry',
  worker: null,
  seen: 0,
  offset: 0,
  open: false,
});

/**
 * Requests a worker for the run. The effect is `once`: a lost worker may have acted, so another one repeats the run only when
 * the policy allows it.
 */
export function forwardExecution(
  execution: IdleExecution,
  forwarded: Forwarded,
  turn: ExecutionTurn,
): RunningExecution {
  const { execution_id, agent_id, agent_version, input, variables, identity, plan, started_at } = execution;
  const effect_id = turn.effect({
    kind: 'execution.forward',
    mode: 'once',
    input: plainObject({
      execution_id,
      agent_id,
      version: agent_version,
      tags: forwarded.tags,
      input,
      context: variables,
      subject: identity?.subject,
      known: forwarded.worker === null ? undefined : { node_id: forwarded.worker, events: forwarded.seen },
    }),
    replyAs: 'WorkerEnded',
    progressAs: 'WorkerSaid',
    retry: RETRY,
    timeoutMs: Math.max(1, Date.parse(started_at) + plan.execution_timeout_ms - turn.now),
  });
  return { ...execution, current: { effect_id, in_doubt: 0, streamed: nothingStreamed, forwarded } };
}

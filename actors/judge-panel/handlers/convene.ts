import type { Identity } from '../../../runtime/identity.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { concludeIfDone } from '../concluding.ts';
import type { Convene as ConveneMessage, Judge } from '../messages.ts';
import { type JudgePanelTurn, timerOf } from '../seats.ts';
import type { JudgePanelState, JudgingPanel, Seat } from '../state.ts';

/** Starting is an answer from the catalog and a durable message; what takes longer is asked again. */
const START = { timeoutMs: 30_000, retry: { maxAttempts: 6, initialDelayMs: 250, maxDelayMs: 5_000 } } as const;

/** idle → judging: asks every judge once. The same id again gets the same answer and asks nobody. */
export function Convene(state: JudgePanelState, convene: ConveneMessage, turn: JudgePanelTurn): JudgePanelState {
  const { judges, consensus, panel_id } = convene;
  if (state.status !== 'idle') {
    const same =
      state.seats.length === judges.length && state.seats.every(({ agent }, at) => agent === judges[at]?.agent);
    if (!same) turn.refuse('conflict', 'the panel id is in use for other judges');
    turn.reply({ panel_id: state.panel_id });
    return state;
  }
  const identity = convene.identity ?? turn.identity;
  if (identity === null) return turn.refuse('invalid_argument', 'identity: expected in whose name the judges run');
  if (identity.tenant !== turn.tenant) return turn.refuse('forbidden', 'judges run in the tenant of their panel');
  turn.reply({ panel_id });
  const hopeless = judges.length < consensus.min_judges_required;
  const seats = judges.map((judge, index): Seat => {
    const executionId = turn.newId();
    const effectId = hopeless ? '' : ask(judge, index, { convene, identity, executionId }, turn);
    return {
      agent: judge.agent,
      weight: judge.weight,
      timeout_ms: judge.timeout_ms,
      execution_id: executionId,
      effect_id: effectId,
      status: hopeless ? 'dropped' : 'asked',
      agent_id: null,
      verdict: null,
      output: null,
      reason: null,
      code: null,
    };
  });
  turn.emit('JudgePanelConvened', {
    panel_id,
    workflow_execution_id: convene.workflow_execution_id ?? null,
    judges: seats.map(({ agent, execution_id, weight }) => ({ agent, execution_id, weight })),
    consensus,
    convened_at: new Date(turn.now).toISOString(),
  });
  const panel: JudgingPanel = { status: 'judging', panel_id, consensus, seats, notify: convene.notify ?? null };
  return concludeIfDone(panel, turn);
}

interface Asking {
  readonly convene: ConveneMessage;
  readonly identity: Identity;
  readonly executionId: string;
}

/** Returns the id of the effect that starts the judge. */
function ask(judge: Judge, index: number, { convene, identity, executionId }: Asking, turn: JudgePanelTurn): string {
  turn.after(timerOf(index), judge.timeout_ms, 'JudgeTimedOut', { judge: index });
  const input: JsonObject = {
    execution_id: executionId,
    agent: judge.agent,
    input: judge.input,
    one_shot: true,
    ...(convene.workflow_execution_id === undefined ? {} : { workflow_execution_id: convene.workflow_execution_id }),
    ...(convene.depth === undefined ? {} : { depth: convene.depth }),
    notify: { to: turn.self, as: 'JudgeWord', context: { judge: index } },
    identity,
  };
  return turn.effect({
    kind: 'agent.start',
    mode: 'repeatable',
    input,
    replyAs: 'JudgeStarted',
    context: { judge: index },
    ...START,
  });
}

import { z } from 'zod';
import { defineActor } from '../../runtime/define-actor.ts';
import type { EffectResult } from '../../runtime/effect.ts';
import type { Identity } from '../../runtime/identity.ts';
import { plainObject } from '../../runtime/json.ts';
import type { ExecutionUpdate } from '../execution/update.ts';
import { hasRules } from '../run-rules.ts';
import { cancelPanel, concludeIfDone } from './concluding.ts';
import { readJudge } from './judge-output.ts';
import { type Convene as ConveneMessage, type Judge, judgePanelEvents, judgePanelMessages } from './messages.ts';
import {
  executionOf,
  failSeat,
  isOpen,
  JudgePanelState,
  type JudgePanelTurn,
  type JudgingPanel,
  reseat,
  type Seat,
  stopSeat,
  timerOf,
} from './state.ts';

/** A start is a catalog look-up and a durable message; after this time it is retried. */
const START = { timeoutMs: 30_000, retry: { maxAttempts: 6, initialDelayMs: 250, maxDelayMs: 5_000 } } as const;

/** idle → judging: asks each judge once. Convening again under the same id gets the same answer and asks no judge. */
function Convene(state: JudgePanelState, convene: ConveneMessage, turn: JudgePanelTurn): JudgePanelState {
  const { judges, consensus, panel_id } = convene;
  if (state.status !== 'idle') {
    const same =
      state.seats.length === judges.length && state.seats.every(({ agent }, at) => agent === judges[at]?.agent);
    if (!same) turn.refuse('conflict', 'the panel id is in use for other judges');
    turn.reply({ panel_id: state.panel_id });
    return state;
  }
  const identity = convene.identity ?? turn.identity;
  if (identity === null)
    return turn.refuse(
      'invalid_argument',
      'identity: missing; judges run in the name of the caller that convenes them',
    );
  if (identity.tenant !== turn.tenant)
    return turn.refuse('forbidden', "identity: its tenant is not the panel's; judges run in the tenant of their panel");
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
  const { in_prose, rules, notify = null } = convene;
  const panel: JudgingPanel = { status: 'judging', panel_id, consensus, seats, in_prose, rules, notify };
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
  const input = {
    execution_id: executionId,
    agent: judge.agent,
    input: judge.input,
    one_shot: true,
    workflow_execution_id: convene.workflow_execution_id,
    depth: convene.depth,
    notify: { to: turn.self, as: 'JudgeWord', context: { judge: index } },
    identity,
  };
  return turn.effect({
    kind: 'agent.start',
    mode: 'repeatable',
    input: plainObject(input),
    replyAs: 'JudgeStarted',
    context: { judge: index },
    ...START,
  });
}

const Started = z.object({ agent_id: z.string() });

/** The judge's execution was started, or could not be. Its first update may have come earlier. */
function JudgeStarted(state: JudgePanelState, result: EffectResult, turn: JudgePanelTurn): JudgePanelState {
  if (state.status !== 'judging') return state;
  const judge = state.seats.findIndex(({ effect_id }) => effect_id === result.effectId);
  const seat = state.seats[judge];
  if (seat?.status !== 'asked') return state;
  const { outcome } = result;
  const started = outcome.kind === 'done' ? Started.safeParse(outcome.value) : undefined;
  if (started?.success === true) {
    const { agent_id } = started.data;
    turn.emit('JudgeAsked', { judge, agent_id, execution_id: seat.execution_id });
    return reseat(state, judge, { status: 'judging', agent_id });
  }
  const code = outcome.kind === 'failed' ? outcome.code : 'internal';
  const reason = outcome.kind === 'failed' ? outcome.message : 'its execution could not be started';
  return concludeIfDone(failSeat(state, judge, { reason: `${code}: ${reason}`, code }, turn), turn);
}

/** A judge's execution has started or ended. A judge that is no longer awaited is cancelled when it starts. */
function JudgeUpdated(state: JudgePanelState, update: ExecutionUpdate, turn: JudgePanelTurn): JudgePanelState {
  if (state.status === 'idle') return state;
  const judge = state.seats.findIndex(({ execution_id }) => execution_id === update.execution_id);
  const seat = state.seats[judge];
  if (seat === undefined) return state;
  if (state.status === 'ended' || !isOpen(seat)) {
    if (update.status === 'running' && seat.status !== 'answered') {
      turn.tell(executionOf(seat.execution_id, turn), 'Cancel', { reason: 'its panel does not await it any more' });
    }
    return state;
  }
  const { agent_id } = update;
  if (seat.status === 'asked') turn.emit('JudgeAsked', { judge, agent_id, execution_id: seat.execution_id });
  const panel = reseat(state, judge, { status: 'judging', agent_id });
  return update.status === 'running' ? panel : concludeIfDone(takeVerdict(panel, judge, update, turn), turn);
}

function takeVerdict(panel: JudgingPanel, judge: number, update: ExecutionUpdate, turn: JudgePanelTurn): JudgingPanel {
  if (update.status !== 'completed' || update.output === null) {
    const why = update.reason ?? update.status;
    const isNamed = hasRules(panel, 5) && update.error?.startsWith(`${why}: `) === true;
    const said = [isNamed ? null : why, update.error].filter((part) => part !== null && part !== '').join(': ');
    const ended = update.reason ?? undefined;
    return failSeat(panel, judge, { reason: `its execution ended without an output: ${said}`, ended }, turn);
  }
  const read = readJudge(update.output, { inProse: panel.in_prose === true });
  if (!read.ok) return failSeat(panel, judge, { reason: read.reason, output: read.output }, turn);
  const { score, confidence, reasoning, output } = read;
  turn.clear(timerOf(judge));
  turn.emit('JudgeAnswered', {
    judge,
    agent_id: update.agent_id,
    execution_id: update.execution_id,
    score,
    confidence,
  });
  return reseat(panel, judge, { status: 'answered', verdict: { score, confidence, reasoning }, output });
}

/** Drops and cancels a judge that takes too long. */
function JudgeTimedOut(
  state: JudgePanelState,
  { judge }: { readonly judge: number },
  turn: JudgePanelTurn,
): JudgePanelState {
  if (state.status !== 'judging') return state;
  const seat = state.seats[judge];
  if (seat === undefined || !isOpen(seat)) return state;
  stopSeat(seat, turn, 'its time as a judge is over');
  const reason = `timed out: no verdict within ${seat.timeout_ms / 1_000} s`;
  return concludeIfDone(failSeat(state, judge, { reason, code: 'deadline_exceeded' }, turn), turn);
}

/** Ends the panel without a verdict and cancels its judges; an ended one stays unchanged. */
function Cancel(
  state: JudgePanelState,
  { reason }: { readonly reason?: string | undefined },
  turn: JudgePanelTurn,
): JudgePanelState {
  if (state.status === 'idle') return turn.refuse('not_found', 'panel not found');
  if (state.status === 'ended')
    return turn.refuse('failed_precondition', `the panel is ${state.outcome.status} already`);
  turn.reply({ cancelled: true });
  return cancelPanel(state, reason === undefined || reason === '' ? 'the panel was cancelled' : reason, turn);
}

/** Several judges, one verdict: asks each judge's agent once, waits for all of them, and concludes (W10, W11). */
export const judgePanel = defineActor({
  kind: 'judge-panel',
  version: 3,
  state: JudgePanelState,
  // Versions 2 and 3 added optional fields.
  migrate: (state) => state,
  initial: () => ({ status: 'idle' as const }),
  messages: judgePanelMessages,
  events: judgePanelEvents,
  on: { Convene, Cancel, JudgeStarted, JudgeWord: JudgeUpdated, JudgeTimedOut },
  creates: ['Convene'],
  finalEvents: ['JudgePanelConcluded', 'JudgePanelCancelled'],
  done: (state) => state.status === 'ended',
  isPart: true,
  belongsTo: (state) => (state.status === 'ended' ? (state.told ?? null) : null),
});

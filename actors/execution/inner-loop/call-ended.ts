import { ToolOutcome } from '../../../manifests/tool/call.ts';
import type { EffectResult } from '../../../runtime/effect.ts';
import type { PanelConcluded } from '../../judge-panel/messages.ts';
import { panelVerdict } from '../judging.ts';
import type { DispatchEnded as DispatchEndedMessage, ExecutionTurn } from '../messages.ts';
import { failLoop } from '../outcome.ts';
import { awaited, phaseOf, runningOf, withCall, withLoop } from '../phase.ts';
import type { ExecutionState, RunningExecution } from '../state.ts';
import { continueLoop } from './calls.ts';
import { commandOutcome } from './dispatched.ts';
import { denyCall, doubtCall, endCall } from './settle-call.ts';
import { LOOP, type LoopCall } from './state.ts';

/** Errors of a node with wrong settings: every further call would fail too. */
const FATAL: ReadonlySet<string> = new Set(['invalid_config', 'unauthenticated']);

/** A tool call has ended. The model gets its result together with those of the same answer; a fatal error ends the loop. */
export function ToolEnded(state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState {
  const found = awaited(state, 'ToolEnded', result.effectId);
  if (found === null) return state;
  const { running } = found;
  const { call } = found.wait;
  if (result.outcome.kind === 'in_doubt') return continueLoop(doubtCall(running, call, turn), turn);
  const outcome = outcomeOf(result.outcome);
  const ended = endCall(running, call, outcome, turn);
  const { error } = outcome;
  if (error?.class !== 'fatal') return continueLoop(ended, turn);
  return failLoop(ended, { error_type: error.code, message: `${call.name}: ${error.message}` }, turn);
}

type Settled = Exclude<EffectResult['outcome'], { readonly kind: 'in_doubt' }>;

function outcomeOf(settled: Settled): ToolOutcome {
  const read = settled.kind === 'done' ? ToolOutcome.safeParse(settled.value) : undefined;
  if (read?.success === true) return read.data;
  const [code, message] =
    settled.kind === 'failed'
      ? [settled.code, settled.message]
      : ['tool_failed', 'the result of the tool is malformed'];
  const error = { code, message, class: FATAL.has(code) ? ('fatal' as const) : ('recoverable' as const) };
  return { content: [], is_error: true, error, duration_ms: 0 };
}

/** A bootstrap has run a dispatched command. Repeating the report changes nothing. */
export function DispatchEnded(state: ExecutionState, end: DispatchEndedMessage, turn: ExecutionTurn): ExecutionState {
  const running = runningOf(state, turn);
  const phase = phaseOf(running);
  const ended = phase.kind === 'program' ? (phase.loop?.ended_dispatches ?? []) : [];
  const call = awaited(running, 'DispatchEnded', end.dispatch_id)?.wait.call;
  if (call === undefined && !ended.includes(end.dispatch_id)) {
    return turn.refuse('failed_precondition', `dispatch_id: no dispatch ${end.dispatch_id} is open`);
  }
  turn.reply({ iteration: running.iteration_count });
  if (call === undefined) return running;
  const noted = withLoop(running, { ended_dispatches: [...ended, end.dispatch_id].slice(-LOOP.endedDispatches) });
  return continueLoop(endCall(noted, call, commandOutcome(call.allowed, end), turn), turn);
}

/** The panel of a proposed call has ended. Without a verdict the iteration fails, since no judge has allowed the call. */
export function callJudged(
  running: RunningExecution,
  call: LoopCall,
  panel: PanelConcluded,
  turn: ExecutionTurn,
): ExecutionState {
  const check = running.plan.tool_checks[call.judged];
  if (check === undefined) return running;
  const verdict = panelVerdict(check, panel);
  if (verdict.passed) {
    return continueLoop(withCall(running, call.key, { status: 'waiting', judged: call.judged + 1 }), turn);
  }
  const reason = `${verdict.validator}: ${verdict.reason}`;
  if (panel.status !== 'concluded' || panel.consensus === null) {
    const error_type = panel.code ?? 'tool_judge_failed';
    return failLoop(running, { error_type, message: `${call.name}: ${reason}` }, turn);
  }
  const denial = {
    reason: 'JudgeRejected',
    message: `the proposed call was not run. ${reason}`,
    schema_hash: call.allowed?.offer.schema_hash ?? null,
  };
  return continueLoop(denyCall(running, call, denial, turn), turn);
}

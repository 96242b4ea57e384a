import { canonicalHash } from '../../../manifests/audit/record.ts';
import { ToolOutcome } from '../../../manifests/tool/call.ts';
import { ToolGrant } from '../../../manifests/tool/scope.ts';
import type { EffectResult } from '../../../runtime/effect.ts';
import { ERRORS, isErrorCode } from '../../../runtime/errors.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import type { PanelConcluded } from '../../judge-panel/messages.ts';
import { LIMITS } from '../limits.ts';
import type { DispatchEnded as DispatchEndedMessage, ExecutionTurn, Generate as GenerateMessage } from '../messages.ts';
import { plainFailure } from '../outcome.ts';
import { runsInNode } from '../plan.ts';
import { renderPrompt } from '../prompt.ts';
import type { ExecutionState, RunningExecution } from '../state.ts';
import { askModel, beginLoop, userMessage } from './ask.ts';
import { openSession } from './audit.ts';
import { goOn, heardOf } from './calls.ts';
import { commandOutcome } from './dispatches.ts';
import { failLoop } from './finish.ts';
import { loopAwaiting, loopOf, withCall, withLoop } from './loop-of.ts';
import { denyCall, doubtCall, doubtDispatch, endCall } from './settle-call.ts';
import { LOOP, type Loop } from './state.ts';

/**
 * A bootstrap asks for an answer. The same again finds the same loop, wherever it is: what has run is not run again. Its
 * answer is read from the state (dispatches.ts).
 */
export function Generate(state: ExecutionState, ask: GenerateMessage, turn: ExecutionTurn): ExecutionState {
  const running = runningIteration(state, ask.iteration_number, turn);
  if (running.agent_id !== ask.agent_id) return turn.refuse('forbidden', 'agent_id: the execution is of another agent');
  if (runsInNode(running.plan))
    return turn.refuse('failed_precondition', 'the loop of this execution runs in its node');
  const { model_alias, prompt, messages } = ask;
  const request = canonicalHash({ model_alias, prompt, messages });
  const { loop } = running.current;
  turn.reply({ iteration: running.iteration_count });
  if (loop?.request === request) return again(running, loop, turn);
  if (loop !== undefined && loop.phase !== 'final' && loop.phase !== 'failed') {
    return turn.refuse('failed_precondition', 'another generate of this iteration is under way');
  }
  const conversation = beginning(running, ask);
  if (Buffer.byteLength(JSON.stringify(conversation)) > LIMITS.modelPromptBytes) {
    return turn.refuse('payload_too_large', `messages: at most ${LIMITS.modelPromptBytes} bytes can be given`);
  }
  const earlier_rounds = loop === undefined ? 0 : roundsOf(loop);
  if (earlier_rounds >= LOOP.roundsOfIteration) {
    return turn.refuse(
      'failed_precondition',
      `an iteration has at most ${LOOP.roundsOfIteration} rounds with the model`,
    );
  }
  const model = model_alias === '' ? running.plan.model : model_alias;
  return beginLoop(running, { by: 'gateway', request, model, messages: conversation, earlier_rounds }, turn);
}

/** Throws what a bootstrap of another time or place gets. */
function runningIteration(state: ExecutionState, iteration: number, turn: ExecutionTurn): RunningExecution {
  if (state.status === 'pending') return turn.refuse('not_found', 'execution not found');
  if (state.status !== 'running') return turn.refuse('failed_precondition', `the execution is ${state.status} already`);
  if (state.iteration_count !== iteration) {
    const text = `iteration_number: iteration ${state.iteration_count} runs, not ${iteration}`;
    return turn.refuse('failed_precondition', text);
  }
  if (state.current.judging !== undefined) return turn.refuse('failed_precondition', 'the iteration is being judged');
  if (state.current.memory !== undefined) return turn.refuse('failed_precondition', 'the iteration has ended');
  return state;
}

/** A model, or a grant, that was not to be had may be now; a bootstrap that asks again behind a dispatch is a new one. */
function again(running: RunningExecution, loop: Loop, turn: ExecutionTurn): ExecutionState {
  if (loop.phase === 'failed') {
    const code = loop.failure?.code ?? '';
    if (!isErrorCode(code) || ERRORS[code].kind !== 'retry') return running;
    const earlier_rounds = loop.earlier_rounds + 1;
    if (earlier_rounds + loop.round > LOOP.roundsOfIteration) return running;
    // Nothing has run without a grant.
    if (loop.round === 0) return beginLoop(running, { ...loop, earlier_rounds }, turn);
    return askModel(withRoundBack(running, { ...loop, earlier_rounds }), turn);
  }
  if (loop.phase !== 'calls' || loop.ended_dispatches.length === 0) return running;
  return goOn(doubtDispatch(running, turn), turn);
}

/** One that had none, since there was no grant, counts too. */
const roundsOf = ({ earlier_rounds, round }: Loop): number => earlier_rounds + Math.max(1, round);

/** The round that failed is asked again. */
const withRoundBack = (running: RunningExecution, loop: Loop): RunningExecution => ({
  ...running,
  current: { ...running.current, loop: { ...loop, round: loop.round - 1 } },
});

function beginning(running: RunningExecution, { prompt, messages }: GenerateMessage): JsonObject[] {
  const begun = messages.map((message): JsonObject => JSON.parse(JSON.stringify(message)));
  if (prompt !== '') return [...begun, userMessage(prompt)];
  return begun.length > 0 ? begun : [userMessage(renderPrompt(running, running.iteration_count))];
}

/** What the execution's tools may do: pinned until it ends, and the first link of its audit chain. */
export function ToolsGranted(
  state: ExecutionState,
  { effectId, outcome }: EffectResult,
  turn: ExecutionTurn,
): ExecutionState {
  const looping = loopAwaiting(state, effectId);
  if (looping === null || looping.loop.phase !== 'granting') return state;
  const { running } = looping;
  if (outcome.kind !== 'done') return failLoop(running, plainFailure(outcome), turn);
  const read = ToolGrant.safeParse(outcome.value);
  if (!read.success) {
    return failLoop(running, { error_type: 'tool_failed', message: 'the grant of the tools is malformed' }, turn);
  }
  const granted = { ...running, grant: read.data };
  openSession(granted, turn);
  return askModel(granted, turn);
}

/** Codes of a node that is set up wrongly: no other call would fare better. */
const FATAL: ReadonlySet<string> = new Set(['invalid_config', 'unauthenticated']);

/** A call has ended. Its answer is told to the model with those of the same turn; a fatal one ends the loop. */
export function ToolEnded(state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState {
  const looping = loopOf(state);
  const call = looping?.loop.calls.find(
    ({ status, effect_id }) => status === 'running' && effect_id === result.effectId,
  );
  if (looping === null || call === undefined) return state;
  const { running } = looping;
  if (result.outcome.kind === 'in_doubt') return goOn(doubtCall(running, call, turn), turn);
  const outcome = outcomeOf(result.outcome);
  const ended = endCall(running, call, outcome, turn);
  const { error } = outcome;
  if (error?.class !== 'fatal') return goOn(ended, turn);
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

/** A bootstrap has run the command of a dispatch. Telling it again is harmless. */
export function DispatchEnded(state: ExecutionState, end: DispatchEndedMessage, turn: ExecutionTurn): ExecutionState {
  if (state.status === 'pending') return turn.refuse('not_found', 'execution not found');
  if (state.status !== 'running') return turn.refuse('failed_precondition', `the execution is ${state.status} already`);
  const looping = loopOf(state);
  const known = looping?.loop.ended_dispatches.includes(end.dispatch_id) === true;
  const call = looping?.loop.calls.find(
    ({ status, dispatch_id }) => status === 'dispatched' && dispatch_id === end.dispatch_id,
  );
  if (looping === null || (call === undefined && !known)) {
    return turn.refuse('failed_precondition', `dispatch_id: no dispatch ${end.dispatch_id} is open`);
  }
  turn.reply({ iteration: state.iteration_count });
  if (call === undefined) return state;
  const ended_dispatches = [...looping.loop.ended_dispatches, end.dispatch_id].slice(-LOOP.endedDispatches);
  const told = withLoop(looping.running, { ended_dispatches });
  return goOn(endCall(told, call, commandOutcome(call.allowed, end), turn), turn);
}

/** The judges of a proposed call. Unheard ones fail the iteration: nobody said that the call may run. */
export function callJudged(state: ExecutionState, word: PanelConcluded, turn: ExecutionTurn): ExecutionState {
  const looping = loopOf(state);
  const call = looping?.loop.calls.find(({ status, panel_id }) => status === 'judging' && panel_id === word.panel_id);
  if (looping === null || call === undefined) return state;
  const { running } = looping;
  const check = running.plan.tool_checks[call.judged];
  if (check === undefined) return state;
  const heard = heardOf(check, word);
  if (heard.kind === 'passed') {
    return goOn(withCall(running, call.key, { status: 'waiting', judged: call.judged + 1 }), turn);
  }
  if (heard.kind === 'unheard') {
    return failLoop(running, { error_type: 'tool_judge_failed', message: `${call.name}: ${heard.reason}` }, turn);
  }
  const denial = {
    reason: 'JudgeRejected',
    message: `the proposed call was not run. ${heard.reason}`,
    schema_hash: call.allowed?.offer.schema_hash ?? null,
  };
  return goOn(denyCall(running, call, denial, turn), turn);
}

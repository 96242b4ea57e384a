import { canonicalHash } from '../../../manifests/audit/record.ts';
import { ToolGrant } from '../../../manifests/tool/scope.ts';
import type { EffectResult } from '../../../runtime/effect.ts';
import { ERRORS, isErrorCode } from '../../../runtime/errors.ts';
import { type JsonObject, plainObject } from '../../../runtime/json.ts';
import { LIMITS } from '../limits.ts';
import type { ExecutionTurn, Generate as GenerateMessage } from '../messages.ts';
import { failLoop, failureOf } from '../outcome.ts';
import { awaited, phaseOf, runningOf } from '../phase.ts';
import { renderPrompt } from '../prompt.ts';
import type { ExecutionState, RunningExecution } from '../state.ts';
import { askModel, beginLoop, userMessage } from './ask.ts';
import { openSession } from './audit.ts';
import { continueLoop } from './calls.ts';
import { doubtDispatch } from './settle-call.ts';
import { LOOP, type Loop } from './state.ts';

/**
 * A bootstrap asks for an answer. A repeated request finds the same loop, and no call runs twice. The answer is read from the
 * state (usecases/dispatches.ts).
 */
export function Generate(state: ExecutionState, ask: GenerateMessage, turn: ExecutionTurn): ExecutionState {
  const running = runningIteration(state, ask.iteration_number, turn);
  if (running.agent_id !== ask.agent_id) return turn.refuse('forbidden', 'agent_id: the execution is of another agent');
  const phase = phaseOf(running);
  if (phase.kind !== 'program')
    return turn.refuse('failed_precondition', 'the loop of this execution runs in its node');
  const { model_alias, prompt, messages } = ask;
  const request = canonicalHash({ model_alias, prompt, messages });
  const { loop } = phase;
  turn.reply({ iteration: running.iteration_count });
  if (loop?.request === request) return again(running, loop, turn);
  if (loop !== null && loop.phase !== 'final' && loop.phase !== 'failed') {
    return turn.refuse('failed_precondition', 'another generate of this iteration is under way');
  }
  const conversation = beginning(running, ask);
  if (Buffer.byteLength(JSON.stringify(conversation)) > LIMITS.modelPromptBytes) {
    return turn.refuse('payload_too_large', `messages: at most ${LIMITS.modelPromptBytes} bytes can be given`);
  }
  const earlier_rounds = loop === null ? 0 : roundsOf(loop);
  if (earlier_rounds >= LOOP.roundsOfIteration) {
    return turn.refuse(
      'failed_precondition',
      `an iteration has at most ${LOOP.roundsOfIteration} rounds with the model`,
    );
  }
  const model = model_alias === '' ? running.plan.model : model_alias;
  return beginLoop(running, { by: 'gateway', request, model, messages: conversation, earlier_rounds }, turn);
}

/** The running iteration, or a refusal if the bootstrap belongs to another one. */
function runningIteration(state: ExecutionState, iteration: number, turn: ExecutionTurn): RunningExecution {
  const running = runningOf(state, turn);
  if (running.iteration_count !== iteration) {
    const text = `iteration_number: iteration ${running.iteration_count} runs, not ${iteration}`;
    return turn.refuse('failed_precondition', text);
  }
  const { kind } = phaseOf(running);
  if (kind === 'judging') return turn.refuse('failed_precondition', 'the iteration is being judged');
  if (kind === 'memory') return turn.refuse('failed_precondition', 'the iteration has ended');
  return running;
}

/**
 * A repeated request. A loop that failed for a passing reason is tried again. When a dispatch is open, the repeat means that
 * the bootstrap which had the command is gone.
 */
function again(running: RunningExecution, loop: Loop, turn: ExecutionTurn): ExecutionState {
  if (loop.phase === 'failed') {
    const code = loop.failure?.code ?? '';
    if (!isErrorCode(code) || ERRORS[code].kind !== 'retry') return running;
    const earlier_rounds = loop.earlier_rounds + 1;
    if (earlier_rounds + loop.round > LOOP.roundsOfIteration) return running;
    // Without a grant no round has begun and no call has run.
    if (loop.round === 0) return beginLoop(running, { ...loop, earlier_rounds }, turn);
    return askModel(withRoundBack(running, { ...loop, earlier_rounds }), turn);
  }
  if (loop.phase !== 'calls' || loop.ended_dispatches.length === 0) return running;
  return continueLoop(doubtDispatch(running, turn), turn);
}

/** A loop that failed before its grant has no round, but counts as one. */
const roundsOf = ({ earlier_rounds, round }: Loop): number => earlier_rounds + Math.max(1, round);

/** Undoes the failed round, which is requested again. */
const withRoundBack = (running: RunningExecution, loop: Loop): RunningExecution => ({
  ...running,
  current: { ...running.current, loop: { ...loop, round: loop.round - 1 } },
});

function beginning(running: RunningExecution, { prompt, messages }: GenerateMessage): JsonObject[] {
  const begun = messages.map(plainObject);
  if (prompt !== '') return [...begun, userMessage(prompt)];
  return begun.length > 0 ? begun : [userMessage(renderPrompt(running, running.iteration_count))];
}

/** The tools are granted: the grant is pinned until the execution ends, and the audit chain gets its first link. */
export function ToolsGranted(
  state: ExecutionState,
  { effectId, outcome }: EffectResult,
  turn: ExecutionTurn,
): ExecutionState {
  const found = awaited(state, 'ToolsGranted', effectId);
  if (found === null) return state;
  const { running } = found;
  if (outcome.kind !== 'done') return failLoop(running, failureOf(outcome), turn);
  const read = ToolGrant.safeParse(outcome.value);
  if (!read.success) {
    return failLoop(running, { error_type: 'tool_failed', message: 'the grant of the tools is malformed' }, turn);
  }
  const granted = { ...running, grant: read.data };
  openSession(granted, turn);
  return askModel(granted, turn);
}

import { canonicalHash } from '../../../../manifests/audit/chain.ts';
import { ERRORS, isErrorCode } from '../../../../runtime/errors.ts';
import type { JsonObject } from '../../../../runtime/json.ts';
import { LIMITS } from '../../limits.ts';
import type { ExecutionTurn, Generate as GenerateMessage } from '../../messages.ts';
import { runsInNode } from '../../plan.ts';
import { renderPrompt } from '../../prompt.ts';
import type { ExecutionState, RunningExecution } from '../../state.ts';
import { askModel, beginLoop } from '../ask.ts';
import { goOn } from '../calls.ts';
import { userMessage } from '../conversation.ts';
import { LOOP } from '../limits.ts';
import { doubtDispatch } from '../settle-call.ts';
import type { Loop } from '../state.ts';

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

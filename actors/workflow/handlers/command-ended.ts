import type { EffectResult } from '../../../runtime/effect.ts';
import { isoTime, TIMERS } from '../ending.ts';
import { doubtPolicy } from '../in-doubt.ts';
import { LIMITS } from '../limits.ts';
import type { WorkflowTurn } from '../messages.ts';
import { currentStep, finish, setStateTimer } from '../run.ts';
import { type IdleWorkflow, isRunning, type WorkflowState } from '../state.ts';
import { askHuman } from '../steps/human.ts';
import { failed, failureOf } from '../steps/step.ts';
import { askCommand, commandResult, withWorkspace } from '../steps/system.ts';

/** Answer of the effect `command.run`. */
export function CommandEnded(state: WorkflowState, result: EffectResult, turn: WorkflowTurn): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'command') return state;
  const { awaiting, ...run } = state;
  if (awaiting.effect_id !== result.effectId) return state;
  const { outcome } = result;
  if (outcome.kind === 'in_doubt') return inDoubt(run, awaiting.repeats, turn);
  if (outcome.kind === 'failed') return finish(run, failed(outcome.code, outcome.message), turn);
  return finish(withWorkspace(run, outcome.value), commandResult(outcome.value, currentStep(run).timeout_ms), turn);
}

/** The command had started when its node died, so nobody knows whether it acted (design E2): policy decides. */
function inDoubt(run: IdleWorkflow, repeats: number, turn: WorkflowTurn): WorkflowState {
  const state = run.current_state ?? '';
  const policy = doubtPolicy(run.manifest, state);
  if (policy === 'retry' && repeats < LIMITS.inDoubtRepeats) return repeatCommand(run, repeats, 'policy', turn);
  if (policy === 'ask') {
    turn.clear(TIMERS.state);
    const prompt = `The command of state ${state} was running when its node died, and may have done its work. Repeat it?`;
    const question = { prompt, timeout_ms: null, default_response: null };
    return { ...run, awaiting: askHuman(run, question, { kind: 'repeat', repeats }, turn) };
  }
  const message =
    repeats === 0
      ? 'the command had started when its node died; it was not repeated'
      : `its node died ${repeats + 1} times while the command ran; it was not repeated again`;
  return finish(run, failed('in_doubt', message), turn);
}

/** Asks for the command again, in sight of everybody, with the state's whole time. */
export function repeatCommand(
  run: IdleWorkflow,
  repeats: number,
  by: 'policy' | 'human',
  turn: WorkflowTurn,
): WorkflowState {
  const step = currentStep(run);
  if (step.kind !== 'System') return finish(run, failed('in_doubt', 'the state runs no command'), turn);
  let effectId: string;
  try {
    effectId = askCommand(run, step, turn);
  } catch (thrown) {
    return finish(run, failureOf(thrown), turn);
  }
  const { execution_id, current_state } = run;
  const repeat = repeats + 1;
  const told = { execution_id, state_name: current_state ?? '', repeat, by, repeated_at: isoTime(turn) };
  turn.emit('WorkflowStepRepeated', told);
  setStateTimer(run, turn);
  const awaiting = { kind: 'command', effect_id: effectId, repeats: repeat } as const;
  return { ...run, in_doubt: run.in_doubt + 1, awaiting };
}

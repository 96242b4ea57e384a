import type { WorkflowTurn } from '../messages.ts';
import { currentStep, finish } from '../run.ts';
import { isRunning, type WorkflowState } from '../state.ts';
import { askContainer } from '../steps/container-run.ts';
import { failureOf } from '../steps/step.ts';

/** The pause before the next attempt is over. */
export function RetryContainer(
  state: WorkflowState,
  { entry }: { readonly entry: number },
  turn: WorkflowTurn,
): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'container' || state.entry !== entry) return state;
  const { awaiting, ...run } = state;
  const step = currentStep(run);
  if (awaiting.effect_id !== null || step.kind !== 'ContainerRun') return state;
  try {
    return { ...run, awaiting: askContainer(run, step, awaiting.attempt, turn) };
  } catch (thrown) {
    return finish(run, failureOf(thrown), turn);
  }
}

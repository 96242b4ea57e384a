import type { JsonObject } from '../../../runtime/json.ts';
import { release } from '../children.ts';
import { cancelRun, TIMERS } from '../ending.ts';
import type { WorkflowTurn } from '../messages.ts';
import { currentStep, finish } from '../run.ts';
import { type Awaiting, isRunning, type WorkflowState } from '../state.ts';
import { failed } from '../steps/step.ts';
import { timedOutText } from '../steps/system.ts';
import { tellChildFailed } from './children.ts';

/** Ends the run and everything it started: effects, executions, panel, approval, child workflows. */
export function Cancel(
  state: WorkflowState,
  { reason }: { readonly reason?: string | undefined },
  turn: WorkflowTurn,
): WorkflowState {
  if (state.status === 'pending') return turn.refuse('not_found', 'workflow execution not found');
  if (!isRunning(state)) return turn.refuse('failed_precondition', `the workflow execution is ${state.status} already`);
  const { awaiting, ...run } = state;
  const why = reason === undefined || reason === '' ? null : reason;
  release(awaiting, why ?? 'its workflow was cancelled', turn);
  for (const timer of Object.values(TIMERS)) turn.clear(timer);
  turn.reply({ cancelled: true });
  return cancelRun(run, why, turn);
}

/** The current state took too long: what it waits for is let go, and it failed. A timer of an earlier one is ignored. */
export function StateTimedOut(
  state: WorkflowState,
  { entry }: { readonly entry: number },
  turn: WorkflowTurn,
): WorkflowState {
  if (!isRunning(state) || state.entry !== entry) return state;
  const { awaiting, ...run } = state;
  // These have no time of their own here: an approval keeps its own.
  if (awaiting.kind === 'volumes' || awaiting.kind === 'turn' || awaiting.kind === 'approval') return state;
  release(awaiting, 'the state of its workflow timed out', turn);
  if (awaiting.kind === 'container') turn.clear(TIMERS.retry);
  if (awaiting.kind === 'child') tellChildFailed(run, awaiting.execution_id, 'state_timed_out', turn);
  const result = failed('state_timed_out', timedOutText(currentStep(run).timeout_ms), leftOver(awaiting));
  return finish(run, result, turn);
}

/** What of the state is known all the same. */
function leftOver(awaiting: Awaiting): JsonObject {
  if (awaiting.kind === 'containers') return { output: awaiting.results };
  if (awaiting.kind === 'child') return { result: null, child_execution_id: awaiting.execution_id };
  if (awaiting.kind === 'agent') return { output: null, score: 0, confidence: 0, iterations: 0 };
  return {};
}

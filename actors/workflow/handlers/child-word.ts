import { writeBlackboard } from '../blackboard.ts';
import { cancelUnwanted, release, settle } from '../children.ts';
import { isoTime } from '../ending.ts';
import type { WorkflowTurn } from '../messages.ts';
import { currentStep, finish } from '../run.ts';
import { type IdleWorkflow, isRunning, type RunningWorkflow, type WorkflowState } from '../state.ts';
import { failed, failureOf, succeeded } from '../steps/step.ts';
import { childProblem, childResult, resultEntries } from '../steps/subworkflow.ts';
import type { WorkflowWord } from '../word.ts';

/** A child workflow started or ended. One that is no longer wanted is cancelled when it says it started. */
export function ChildWord(state: WorkflowState, word: WorkflowWord, turn: WorkflowTurn): WorkflowState {
  const awaited = isRunning(state) && state.awaiting.kind === 'child' ? state.awaiting : null;
  if (!isRunning(state) || awaited?.execution_id !== word.execution_id) {
    cancelUnwanted('workflow', word, turn);
    return state;
  }
  const known = meetChild(state, word.workflow_id, turn);
  // Refused as a cycle.
  if (!isRunning(known) || known.awaiting.kind !== 'child' || known.awaiting.execution_id !== word.execution_id)
    return known;
  const { awaiting, ...run } = known;
  const step = currentStep(run);
  if (step.kind !== 'Subworkflow') return known;
  if (step.mode === 'fire_and_forget') return leaveChild({ ...run, awaiting: { ...awaiting, runs: true } }, turn);
  if (word.status === 'running') return { ...run, awaiting: { ...awaiting, runs: true } };
  settle(awaiting.effect_id, turn);
  return finishChild(run, word, turn);
}

/**
 * fire_and_forget goes on once the child runs and its start is settled: a start that is still under way would be
 * cancelled at the end of this run, and the child with it.
 */
export function leaveChild(state: RunningWorkflow, turn: WorkflowTurn): WorkflowState {
  const { awaiting, ...run } = state;
  if (awaiting.kind !== 'child' || !awaiting.runs || awaiting.effect_id !== null) return state;
  return finish(run, succeeded({ child_execution_id: awaiting.execution_id }), turn);
}

function finishChild(run: IdleWorkflow, word: WorkflowWord, turn: WorkflowTurn): WorkflowState {
  const step = currentStep(run);
  if (step.kind !== 'Subworkflow') return finish(run, childResult(word), turn);
  if (word.status !== 'completed') {
    tellChildFailed(run, word.execution_id, word.reason ?? word.status, turn);
    return finish(run, childResult(word), turn);
  }
  turn.emit('SubworkflowCompleted', {
    ...ids(run, word.execution_id),
    result_key: step.result_key ?? null,
    completed_at: isoTime(turn),
  });
  let written: IdleWorkflow;
  try {
    written = writeBlackboard(run, resultEntries(step, word), turn);
  } catch (thrown) {
    const record = { result: null, child_execution_id: word.execution_id };
    return finish(run, { ...failureOf(thrown), record }, turn);
  }
  return finish(written, childResult(word), turn);
}

/** The child's workflow is known now: told once, and refused when it is among its own ancestors. */
export function meetChild(state: RunningWorkflow, workflowId: string, turn: WorkflowTurn): WorkflowState {
  const { awaiting, ...run } = state;
  const step = currentStep(run);
  if (awaiting.kind !== 'child' || awaiting.workflow_id !== null || step.kind !== 'Subworkflow') return state;
  const problem = childProblem(run, workflowId);
  if (problem !== null) {
    release(awaiting, problem.message, turn);
    tellChildFailed(run, awaiting.execution_id, problem.reason, turn);
    const record = { result: null, child_execution_id: awaiting.execution_id };
    return finish(run, failed(problem.reason, problem.message, record), turn);
  }
  turn.emit('SubworkflowTriggered', {
    ...ids(run, awaiting.execution_id),
    child_workflow_id: workflowId,
    mode: step.mode,
    triggered_at: isoTime(turn),
  });
  return { ...run, awaiting: { ...awaiting, workflow_id: workflowId } };
}

const ids = (run: IdleWorkflow, child: string) => ({
  parent_execution_id: run.execution_id,
  child_execution_id: child,
  parent_state_name: run.current_state ?? '',
});

export function tellChildFailed(run: IdleWorkflow, child: string, reason: string, turn: WorkflowTurn): void {
  turn.emit('SubworkflowFailed', { ...ids(run, child), reason, failed_at: isoTime(turn) });
}

import { z } from 'zod';
import type { EffectResult } from '../../../runtime/effect.ts';
import type { ApprovalUpdate } from '../../approval/messages.ts';
import type { ExecutionUpdate } from '../../execution/update.ts';
import type { PanelConcluded } from '../../judge-panel/messages.ts';
import { writeBlackboard } from '../blackboard.ts';
import { cancelUnwanted, release, settle } from '../children.ts';
import { isYes } from '../conditions.ts';
import { isoTime } from '../ending.ts';
import type { WorkflowTurn, WorkflowUpdate } from '../messages.ts';
import { finish } from '../run.ts';
import { ancestryReason } from '../start-request.ts';
import {
  type AwaitingOf,
  currentStep,
  type IdleWorkflow,
  isRunning,
  type RunningWorkflow,
  type WorkflowState,
} from '../state.ts';
import { agentResult, panelResult } from '../steps/agent.ts';
import { failed, failureOf, succeeded } from '../steps/step.ts';
import { childProblem, childResult, resultEntries } from '../steps/subworkflow.ts';
import { repeatCommand } from './effects-ended.ts';

/** A child workflow has started or ended. A child that is no longer awaited is cancelled when it reports its start. */
export function ChildUpdated(state: WorkflowState, update: WorkflowUpdate, turn: WorkflowTurn): WorkflowState {
  const awaited = isRunning(state) && state.awaiting.kind === 'child' ? state.awaiting : null;
  if (!isRunning(state) || awaited?.execution_id !== update.execution_id) {
    cancelUnwanted('workflow', update, turn);
    return state;
  }
  const known = meetChild(state, update.workflow_id, turn);
  // The child was refused as part of a cycle.
  if (!isRunning(known) || known.awaiting.kind !== 'child' || known.awaiting.execution_id !== update.execution_id)
    return known;
  const { awaiting, ...run } = known;
  const step = currentStep(run);
  if (step.kind !== 'Subworkflow') return known;
  if (step.mode === 'fire_and_forget') return leaveChild({ ...run, awaiting: { ...awaiting, runs: true } }, turn);
  if (update.status === 'running') return { ...run, awaiting: { ...awaiting, runs: true } };
  settle(awaiting.effect_id, turn);
  return finishChild(run, update, turn);
}

/**
 * `fire_and_forget` continues once the child runs and the effect of its start is settled. If the run ended earlier, the start
 * would be cancelled, and the child with it.
 */
function leaveChild(state: RunningWorkflow, turn: WorkflowTurn): WorkflowState {
  const { awaiting, ...run } = state;
  if (awaiting.kind !== 'child' || !awaiting.runs || awaiting.effect_id !== null) return state;
  return finish(run, succeeded({ child_execution_id: awaiting.execution_id }), turn);
}

function finishChild(run: IdleWorkflow, update: WorkflowUpdate, turn: WorkflowTurn): WorkflowState {
  const step = currentStep(run);
  if (step.kind !== 'Subworkflow') return finish(run, childResult(run, update), turn);
  if (update.status !== 'completed') {
    tellChildFailed(run, update.execution_id, update.reason ?? update.status, turn);
    return finish(run, childResult(run, update), turn);
  }
  turn.emit('SubworkflowCompleted', {
    ...ids(run, update.execution_id),
    result_key: step.result_key ?? null,
    completed_at: isoTime(turn),
  });
  let written: IdleWorkflow;
  try {
    written = writeBlackboard(run, resultEntries(step, update), turn);
  } catch (thrown) {
    const record = { result: null, child_execution_id: update.execution_id };
    return finish(run, { ...failureOf(thrown), record }, turn);
  }
  return finish(written, childResult(run, update), turn);
}

/** The child's workflow is known now: emitted once, and refused when it is among its own ancestors. */
function meetChild(state: RunningWorkflow, workflowId: string, turn: WorkflowTurn): WorkflowState {
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

/** Result value of the effect `workflow.start`. */
const Started = z.object({ workflow_id: z.string(), name: z.string().optional() });

/** Answer of the effect `workflow.start`. A child that is missing, too deep or part of a cycle fails the state. */
export function ChildStarted(state: WorkflowState, result: EffectResult, turn: WorkflowTurn): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'child') return state;
  const { awaiting, ...run } = state;
  if (awaiting.effect_id !== result.effectId) return state;
  const { outcome } = result;
  const step = currentStep(run);
  const detached = step.kind === 'Subworkflow' && step.mode === 'fire_and_forget';
  const answered = { ...run, awaiting: { ...awaiting, effect_id: null } };
  // The child's own update takes precedence over the answer to its start.
  if (detached && awaiting.runs) return leaveChild(answered, turn);
  if (outcome.kind === 'done') {
    const started = Started.safeParse(outcome.value);
    return started.success ? meetChild(answered, started.data.workflow_id, turn) : answered;
  }
  release(answered.awaiting, 'its start failed', turn);
  const { code, message } =
    outcome.kind === 'failed' ? outcome : { code: 'in_doubt', message: 'it is unknown whether the child was started' };
  const reason = ancestryReason(message) ?? code;
  tellChildFailed(run, awaiting.execution_id, reason, turn);
  return finish(run, failed(reason, message, { result: null }), turn);
}

/** Answer of the effect `agent.start`. The agent's updates decide; a failed start fails the state. */
export function AgentStarted(state: WorkflowState, result: EffectResult, turn: WorkflowTurn): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'agent') return state;
  const { awaiting, ...run } = state;
  if (awaiting.effect_id !== result.effectId) return state;
  const { outcome } = result;
  if (outcome.kind === 'done') return { ...run, awaiting: { ...awaiting, effect_id: null } };
  // It may run nevertheless, if only the answer to its start was lost.
  release({ ...awaiting, effect_id: null }, 'its start failed', turn);
  const record = { output: null, score: 0, confidence: 0, iterations: 0 };
  const { code, message } =
    outcome.kind === 'failed' ? outcome : { code: 'in_doubt', message: 'it is unknown whether the agent was started' };
  return finish(run, failed(code, message, record), turn);
}

/** An agent's execution has started or ended. An agent that is no longer awaited is cancelled when it reports its start. */
export function AgentUpdated(state: WorkflowState, update: ExecutionUpdate, turn: WorkflowTurn): WorkflowState {
  const awaiting = isRunning(state) && state.awaiting.kind === 'agent' ? state.awaiting : null;
  if (!isRunning(state) || awaiting?.execution_id !== update.execution_id) {
    cancelUnwanted('execution', update, turn);
    return state;
  }
  if (update.status === 'running') return state;
  const { awaiting: _awaiting, ...run } = state;
  settle(awaiting.effect_id, turn);
  return finish(run, agentResult(update), turn);
}

/** The judge panel has ended, with a verdict or without. */
export function PanelEnded(state: WorkflowState, panel: PanelConcluded, turn: WorkflowTurn): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'panel') return state;
  const { awaiting, ...run } = state;
  return awaiting.panel_id === panel.panel_id ? finish(run, panelResult(panel), turn) : state;
}

/** An approval was opened, answered or has expired. */
export function ApprovalUpdated(state: WorkflowState, update: ApprovalUpdate, turn: WorkflowTurn): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'approval') return state;
  const { awaiting, ...run } = state;
  if (awaiting.approval_id !== update.approval_id) return state;
  if (update.kind === 'opened') return awaiting.opened ? state : opened(run, awaiting, turn);
  const answered: IdleWorkflow = { ...run, status: 'running' };
  if (update.payload === null) {
    const code = awaiting.about.kind === 'input' ? 'human_input_timeout' : 'in_doubt';
    return finish(answered, failed(code, 'no answer came in time'), turn);
  }
  turn.emit('WorkflowHumanInputReceived', {
    ...approvalIds(run, awaiting),
    how: update.kind,
    payload: update.payload,
    received_at: isoTime(turn),
  });
  if (awaiting.about.kind === 'repeat') return repeatOrFail(answered, awaiting.about.repeats, update.payload, turn);
  const feedback = update.feedback === null || update.feedback === '' ? update.payload : update.feedback;
  const result = succeeded({ output: update.payload, feedback });
  return finish({ ...answered, human_feedback: feedback }, result, turn);
}

/** The status changes only now, so that a client which reads it finds the approval (R2). */
function opened(run: IdleWorkflow, awaiting: AwaitingOf<'approval'>, turn: WorkflowTurn): WorkflowState {
  const { prompt } = awaiting;
  turn.emit('WorkflowHumanInputRequested', { ...approvalIds(run, awaiting), prompt, requested_at: isoTime(turn) });
  return { ...run, status: 'waiting_for_human_input', awaiting: { ...awaiting, opened: true } };
}

function repeatOrFail(run: IdleWorkflow, repeats: number, payload: string, turn: WorkflowTurn): WorkflowState {
  if (isYes(payload)) return repeatCommand(run, repeats, 'human', turn);
  const message = 'the command had started when its node died; a human said not to repeat it';
  return finish(run, failed('in_doubt', message), turn);
}

const approvalIds = (run: IdleWorkflow, { approval_id }: AwaitingOf<'approval'>) => ({
  execution_id: run.execution_id,
  state_name: run.current_state ?? '',
  approval_id,
});

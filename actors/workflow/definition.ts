import { defineActor } from '../../runtime/define-actor.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { release } from './children.ts';
import { cancelRun, TIMERS } from './ending.ts';
import { workflowEvents } from './events.ts';
import {
  AgentStarted,
  AgentUpdated,
  ApprovalUpdated,
  ChildStarted,
  ChildUpdated,
  PanelEnded,
  tellChildFailed,
} from './handlers/children.ts';
import { CommandEnded, ContainerEnded, Continue, RetryContainer, VolumesPrepared } from './handlers/effects-ended.ts';
import { Fork } from './handlers/fork.ts';
import { start } from './handlers/start.ts';
import { LIMITS } from './limits.ts';
import { type WorkflowTurn, workflowMessages } from './messages.ts';
import { finish } from './run.ts';
import { type Awaiting, currentStep, isRunning, WorkflowState } from './state.ts';
import { timedOut } from './state-timer.ts';
import { failed } from './steps/step.ts';
import { timedOutText } from './steps/system.ts';
import { projectWorkflow, WORKFLOW_EXECUTIONS } from './view.ts';

/**
 * One run of a workflow manifest (W19): pending → running ⇄ waiting_for_human_input → completed | failed | cancelled. It waits
 * for one thing at a time, an effect or another actor; `maxTransitions` limits a run with loops (W19).
 */
export const workflowActor = ({ maxTransitions = LIMITS.transitions }: { readonly maxTransitions?: number } = {}) =>
  defineActor({
    kind: 'workflow',
    version: 6,
    state: WorkflowState,
    // Versions 2 to 6 added optional fields: owners and pipelines, labels and traces, origins of forks, rules, the timer.
    migrate: (state) => state,
    initial: () => ({ status: 'pending' as const }),
    messages: workflowMessages,
    events: workflowEvents,
    fairnessKey: (state) => (state.status === 'pending' ? null : state.workflow_id),
    on: {
      Start: start({ maxTransitions }),
      Fork,
      Cancel,
      Continue,
      StateTimedOut,
      RetryContainer,
      VolumesPrepared,
      CommandEnded,
      ContainerEnded,
      AgentStarted,
      ChildStarted,
      AgentWord: AgentUpdated,
      ChildWord: ChildUpdated,
      PanelWord: PanelEnded,
      ApprovalWord: ApprovalUpdated,
    },
    creates: ['Start', 'Fork'],
    finalEvents: ['WorkflowExecutionCompleted', 'WorkflowExecutionFailed', 'WorkflowExecutionCancelled'],
    view: {
      collection: WORKFLOW_EXECUTIONS.name,
      indexes: WORKFLOW_EXECUTIONS.indexes,
      open: { status: { in: ['running', 'waiting_for_human_input'] } },
      isInFeed: true,
      isLocated: true,
      project: projectWorkflow,
    },
    done: (state) => state.status !== 'pending' && !isRunning(state),
    belongsTo: (state) => (state.status === 'pending' ? null : (state.notify?.to ?? null)),
  });

/** Ends the run and everything it started: effects, executions, panel, approval, child workflows. */
function Cancel(
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

/**
 * The current state took too long: its effects and children are cancelled, and it fails. The timer of an earlier state is
 * ignored, or set again.
 */
function StateTimedOut(state: WorkflowState, { entry }: { readonly entry: number }, turn: WorkflowTurn): WorkflowState {
  if (!isRunning(state)) return state;
  const { awaiting } = state;
  // These waits have no time-out here: an approval has its own.
  if (awaiting.kind === 'volumes' || awaiting.kind === 'turn' || awaiting.kind === 'approval') return state;
  const run = timedOut(state, entry, turn);
  if ('awaiting' in run) return run;
  release(awaiting, 'the state of its workflow timed out', turn);
  if (awaiting.kind === 'container') turn.clear(TIMERS.retry);
  if (awaiting.kind === 'child') tellChildFailed(run, awaiting.execution_id, 'state_timed_out', turn);
  const result = failed('state_timed_out', timedOutText(currentStep(run).timeout_ms), leftOver(awaiting));
  return finish(run, result, turn);
}

/** The known part of the output. */
function leftOver(awaiting: Awaiting): JsonObject {
  if (awaiting.kind === 'containers') return { output: awaiting.results };
  if (awaiting.kind === 'child') return { result: null, child_execution_id: awaiting.execution_id };
  if (awaiting.kind === 'agent') return { output: null, score: 0, confidence: 0, iterations: 0 };
  return {};
}

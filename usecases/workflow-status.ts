import { outputOf } from '../actors/workflow/ending.ts';
import { own } from '../actors/workflow/json-values.ts';
import { type EndedWorkflow, isRunning, type RunningWorkflow } from '../actors/workflow/state.ts';
import type { WorkflowExecutionDocument } from '../actors/workflow/view.ts';
import type { PageAsked } from '../runtime/documents/pages.ts';
import { REMOVED_VERSION } from '../runtime/documents.ts';
import type { Json, JsonObject } from '../runtime/json.ts';
import type { ForkedFrom } from '../runtime/recording/forked-work.ts';
import type { WaitReason } from './waits/wait-reason.ts';
export type WorkflowStatus = 'running' | 'waiting_for_human_input' | 'completed' | 'failed' | 'cancelled';

/** Result of svc.workflow.status (W35). */
export interface WorkflowSummary {
  readonly execution_id: string;
  readonly workflow_id: string;
  readonly workflow_name: string;
  readonly workflow_version: string;
  readonly status: WorkflowStatus;
  readonly current_state: string | null;
  /** Code of a failure (`no_transition_matched` …), or the reason of a cancel. */
  readonly reason: string | null;
  /** Text of the failure, for people. */
  readonly error: string | null;
  readonly started_at: string;
  readonly last_transition_at: string;
  readonly ended_at: string | null;
  /** Trace of its start; absent for runs of earlier versions. */
  readonly trace_id?: string;
  /** The run and the message that it was forked from; absent for runs that began with a start. */
  readonly forked_from?: ForkedFrom;
}

/** The filter of a list of runs. */
export interface WorkflowFilter extends PageAsked {
  readonly workflowId?: string;
  readonly status?: string;
}

/** Result of svc.workflow.executions.get (W35). */
export interface WorkflowExecution extends WorkflowSummary {
  readonly intent: string | null;
  readonly input: Json;
  readonly blackboard: JsonObject;
  readonly state_outputs: JsonObject;
  readonly output: Json;
  /** What an unfinished run waits for. */
  readonly waiting_for?: WaitReason;
}

export type Visible = RunningWorkflow | EndedWorkflow;

/** Builds the summary from committed state, so that a client reads its own writes (R2). */
export function summaryOf(state: Visible): WorkflowSummary {
  const ended = isRunning(state) ? null : state;
  return {
    execution_id: state.execution_id,
    workflow_id: state.workflow_id,
    workflow_name: state.workflow_name,
    workflow_version: state.workflow_version,
    status: state.status,
    current_state: state.current_state,
    reason: ended?.reason ?? null,
    error: ended?.error ?? null,
    started_at: state.started_at,
    last_transition_at: state.last_transition_at,
    ended_at: ended?.ended_at ?? null,
    ...(state.trace_id === undefined ? {} : { trace_id: state.trace_id }),
    ...(state.forked_from === undefined ? {} : { forked_from: state.forked_from }),
  };
}

export function executionOf(state: Visible): WorkflowExecution {
  return {
    ...summaryOf(state),
    intent: state.intent,
    input: state.input,
    blackboard: state.blackboard,
    state_outputs: stateOutputs(state),
    output: state.status === 'completed' ? outputOf(state.blackboard, state.current_state) : null,
  };
}

/** The blackboard entries of the states that the run has entered. */
function stateOutputs({ blackboard, visits }: Visible): JsonObject {
  const names = Object.keys(visits).filter((name) => Object.hasOwn(blackboard, name));
  return Object.fromEntries(names.map((name) => [name, own(blackboard, name) ?? null]));
}

/** Builds the summary from a list document. */
export function listed(document: WorkflowExecutionDocument): WorkflowSummary {
  return {
    execution_id: document.id,
    workflow_id: document.workflow_id,
    workflow_name: document.workflow_name,
    workflow_version: document.workflow_version,
    status: document.status,
    current_state: document.current_state,
    reason: document.reason,
    error: document.error,
    started_at: document.started_at,
    last_transition_at: document.last_transition_at,
    ended_at: document.ended_at,
    ...(document.trace_id === undefined ? {} : { trace_id: document.trace_id }),
    ...(document.forked_from === undefined ? {} : { forked_from: document.forked_from }),
  };
}

/** The list document of a removed run: it keeps the id and no text of the run. */
export function tombstone(tenant: string, state: EndedWorkflow): WorkflowExecutionDocument {
  return {
    tenant,
    id: state.execution_id,
    version: REMOVED_VERSION,
    workflow_id: state.workflow_id,
    workflow_name: '',
    workflow_version: '',
    status: state.status,
    current_state: null,
    reason: null,
    error: null,
    started_at: state.started_at,
    last_transition_at: state.ended_at,
    ended_at: state.ended_at,
    removed: true,
  };
}

import { outputOf } from '../actors/workflow/ending.ts';
import { own } from '../actors/workflow/json-values.ts';
import { type EndedWorkflow, isRunning, type RunningWorkflow } from '../actors/workflow/state.ts';
import type { StepError } from '../actors/workflow/steps/step.ts';
import {
  lastStateError,
  outcomeOf,
  type WorkflowExecutionDocument,
  type WorkflowOutcome,
} from '../actors/workflow/view.ts';
import type { PageAsked } from '../runtime/documents/pages.ts';
import { REMOVED_VERSION } from '../runtime/documents.ts';
import type { Json, JsonObject } from '../runtime/json.ts';
import type { ForkedFrom } from '../runtime/recording/forked-work.ts';
import type { WaitReason } from './waits/wait-reason.ts';

/** Why a run did not succeed (H21). */
interface RunError {
  /** Code of the failure, or `cancelled`. */
  readonly code: string;
  readonly message: string;
  /** Message of the failed state; null when it has none. */
  readonly cause: string | null;
}

export const WORKFLOW_STATUSES = ['running', 'waiting_for_human_input', 'completed', 'failed', 'cancelled'] as const;

export type WorkflowStatus = (typeof WORKFLOW_STATUSES)[number];

/** Result of svc.workflow.status (W35). */
export interface WorkflowSummary {
  readonly execution_id: string;
  readonly workflow_id: string;
  readonly workflow_name: string;
  readonly workflow_version: string;
  readonly status: WorkflowStatus;
  readonly current_state: string | null;
  /** Null while it is unfinished. A run whose last state failed is `completed` and has failed (H21). */
  readonly outcome: WorkflowOutcome | null;
  /** Code of a failure (`no_transition_matched` …), or the reason of a cancel. */
  readonly reason: string | null;
  /** Null while it is unfinished, and when it succeeded. */
  readonly error: RunError | null;
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
  readonly outcome?: WorkflowOutcome;
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

type Visible = RunningWorkflow | EndedWorkflow;

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
    outcome: ended === null ? null : outcomeOf(ended),
    reason: ended?.reason ?? null,
    error: ended === null ? null : errorOf({ ...ended, lastError: lastStateError(ended) }),
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

interface End {
  readonly status: WorkflowStatus;
  readonly reason: string | null;
  readonly error: string | null;
  readonly current_state: string | null;
  readonly lastError: StepError | null;
}

function errorOf({ status, reason, error, current_state, lastError }: End): RunError | null {
  if (status === 'cancelled') {
    const why = reason === null || reason === 'cancelled' ? '' : `: ${reason}`;
    return { code: 'cancelled', message: `it was cancelled${why}`, cause: null };
  }
  if (status === 'failed') {
    const code = reason ?? 'failed';
    return { code, message: error ?? code, cause: causeIn(error ?? '', current_state) };
  }
  if (lastError === null) return null;
  const { code, message } = lastError;
  return { code, message: `state ${current_state} failed: ${message}`, cause: message };
}

/** The message of a state, from the error text of a run that failed in it. */
function causeIn(error: string, state: string | null): string | null {
  const start = `state ${state}: `;
  return error.startsWith(start) ? error.slice(start.length) : null;
}

/** Documents of earlier versions have only the status and whether the last state failed. */
function outcomeOfDocument({ status, outcome, last_state_failed }: WorkflowExecutionDocument): WorkflowOutcome | null {
  if (outcome !== undefined) return outcome;
  if (status === 'completed') return last_state_failed === true ? 'failed' : 'succeeded';
  return status === 'failed' || status === 'cancelled' ? status : null;
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
    outcome: outcomeOfDocument(document),
    reason: document.reason,
    error: errorOf({ ...document, lastError: document.last_state_error ?? null }),
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

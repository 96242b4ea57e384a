import type { ActorEvent, CallOptions } from '../../runtime/client.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import type { Ancestor, StartWorkflow } from './start-request.ts';
import type { WaitReason } from './waiting.ts';

export type { Ancestor, StartWorkflow, WaitReason };

export type WorkflowStatus = 'running' | 'waiting_for_human_input' | 'completed' | 'failed' | 'cancelled';

/** Result of svc.workflow.status (spec 3). */
export interface WorkflowSummary {
  readonly execution_id: string;
  readonly workflow_id: string;
  readonly workflow_name: string;
  readonly workflow_version: string;
  readonly status: WorkflowStatus;
  readonly current_state: string | null;
  /** Why it failed or was cancelled. */
  readonly reason: string | null;
  readonly started_at: string;
  readonly last_transition_at: string;
  readonly ended_at: string | null;
}

/** Result of svc.workflow.executions.get (spec 3). */
export interface WorkflowExecution extends WorkflowSummary {
  readonly intent: string | null;
  readonly input: Json;
  readonly blackboard: JsonObject;
  readonly state_outputs: JsonObject;
  readonly output: Json;
  /** What an unfinished one waits for. */
  readonly waiting_for?: WaitReason;
}

/** One entry of svc.workflow.logs (spec 3). */
export interface WorkflowLogEvent {
  readonly sequence: number;
  readonly event_type: string;
  readonly state_name: string | null;
  readonly iteration_number: number | null;
  readonly payload: JsonObject;
  readonly recorded_at: string;
}

/** The area's public surface. All reads answer from committed state; another tenant's id is `not_found`. */
export interface WorkflowApi {
  /** Resolves when the execution is durably started. */
  start(request: StartWorkflow, options?: CallOptions): Promise<{ readonly execution_id: string }>;
  get(tenant: string, executionId: string): Promise<WorkflowExecution>;
  status(tenant: string, executionId: string): Promise<WorkflowSummary>;
  events(tenant: string, executionId: string, after: number, limit: number): Promise<ActorEvent[]>;
  follow(
    tenant: string,
    executionId: string,
    after: number,
    options: { readonly signal: AbortSignal; readonly heartbeatMs: number },
  ): AsyncIterable<ActorEvent | null>;
  logs(
    tenant: string,
    executionId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ readonly status: WorkflowStatus; readonly events: WorkflowLogEvent[]; readonly total: number }>;
  /** Newest first. */
  list(
    tenant: string,
    filter: {
      readonly workflowId?: string;
      readonly status?: string;
      readonly limit: number;
      readonly skip?: number;
    },
  ): Promise<{ readonly executions: WorkflowSummary[]; readonly total: number }>;
  /** Answers the approval it waits for. Throws `conflict` when it waits for none, `not_found`. */
  signal(identity: Identity, executionId: string, response: string, options?: CallOptions): Promise<void>;
  /** Resolves when the cancel is committed; throws `failed_precondition` for an ended one. */
  cancel(identity: Identity, executionId: string, options?: CallOptions): Promise<void>;
  /** Removes an ended execution; throws `failed_precondition` while it runs. */
  remove(tenant: string, executionId: string): Promise<void>;
}

import type { AgentManifest } from '../../manifests/agent/schema.ts';
import type { ActorClient, ActorEvent, CallOptions } from '../../runtime/client.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';
import type { ExecutionLogEvent } from './log.ts';

export { createExecutionApi } from './execution-api.ts';
export { type ExecutionLogEvent, executionLogEvents } from './log.ts';

/** Result of `svc.task.status` (spec 3) with the ids a caller needs. */
export interface ExecutionStatus {
  readonly execution_id: string;
  readonly agent_id: string;
  readonly status: 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';
  readonly iteration_count: number;
  readonly last_output: string | null;
  readonly last_error: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number; readonly cost: number };
  /** How often an effect was asked for again because nobody knew whether it had acted; absent when never. */
  readonly in_doubt?: number;
}

export interface StartExecution {
  /** UUID; made by the transport so that a retried call starts one execution. */
  readonly executionId: string;
  readonly agentId: string;
  readonly manifest: AgentManifest;
  readonly input: string;
  /** Caller's `context_json`. */
  readonly context?: JsonObject;
  /** gRPC SecurityPolicy as JSON (snake_case), narrows the manifest's security. */
  readonly securityPolicy?: JsonObject;
  readonly workflowExecutionId?: string;
  readonly identity: Identity;
}

/** The area's public surface: what transports, CLI views and tools call. Implemented over ActorClient. */
export interface ExecutionApi {
  /** Resolves when the execution is durably started. */
  start(request: StartExecution): Promise<{ execution_id: string }>;
  /** Throws `not_found`, for another tenant's id too. */
  status(tenant: string, executionId: string): Promise<ExecutionStatus>;
  /** Events behind `after` as recorded; payloads are the wire objects of events.ts. */
  events(tenant: string, executionId: string, after: number, limit: number): Promise<ActorEvent[]>;
  follow(
    tenant: string,
    executionId: string,
    after: number,
    options: { readonly signal: AbortSignal; readonly heartbeatMs: number },
  ): AsyncIterable<ActorEvent | null>;
  /** Resolves when the cancel is committed; cancelling an ended execution throws `failed_precondition`. */
  cancel(tenant: string, executionId: string, options?: CallOptions): Promise<void>;
  /** Newest first. */
  list(
    tenant: string,
    filter: { readonly agentId?: string; readonly status?: string; readonly limit: number; readonly skip?: number },
  ): Promise<ExecutionStatus[]>;
  /** Log of one execution (`svc.task.logs`, spec 3), oldest first; `limit` is capped at 200. Throws `not_found`. */
  logs(
    tenant: string,
    executionId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ status: ExecutionStatus['status']; events: ExecutionLogEvent[]; total: number }>;
  /** Removes an ended execution; throws `failed_precondition` while it runs. */
  remove(tenant: string, executionId: string): Promise<void>;
}

export type ExecutionClient = Pick<ActorClient, 'ask' | 'read' | 'events' | 'follow'>;

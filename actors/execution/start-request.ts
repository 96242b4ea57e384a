import type { AgentManifest } from '../../manifests/agent/schema.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import type { Notify } from '../../runtime/notify.ts';
import type { Mount } from './mounts.ts';

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
  /** Volumes of the workflow that the execution finds at these paths. */
  readonly mounts?: readonly Mount[];
  /** For parents: never taken from a caller's request. */
  readonly notify?: Notify;
  /** For parents: how many executions are above it. Default 0. */
  readonly depth?: number;
  readonly identity: Identity;
  /** Start it on the very node that is asked (spec 1, ForwardExecution; design P4). */
  readonly here?: boolean;
}

/** Payload of the message Start. */
export function startPayload(request: StartExecution): JsonObject {
  return {
    execution_id: request.executionId,
    agent_id: request.agentId,
    manifest: plain(request.manifest),
    input: request.input,
    ...(request.context === undefined ? {} : { context: request.context }),
    ...(request.securityPolicy === undefined ? {} : { security_policy: request.securityPolicy }),
    ...(request.workflowExecutionId === undefined ? {} : { workflow_execution_id: request.workflowExecutionId }),
    ...(request.mounts === undefined ? {} : { mounts: request.mounts.map((mount) => ({ ...mount })) }),
    ...(request.notify === undefined ? {} : { notify: request.notify }),
    ...(request.depth === undefined ? {} : { depth: request.depth }),
  };
}

/** A manifest is plain data whose optional fields may be present and undefined; JSON has no undefined. */
function plain(manifest: StartExecution['manifest']): Json {
  const json: Json = JSON.parse(JSON.stringify(manifest));
  return json;
}

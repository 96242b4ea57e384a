import type { WorkflowManifest } from '../../manifests/workflow/schema.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import type { Notify } from '../../runtime/notify.ts';
import type { IntentPipeline } from './intent-pipeline.ts';

/** One workflow above another, for depth and cycles. */
export interface Ancestor {
  readonly workflow_id: string;
  readonly name: string;
  readonly execution_id: string;
}

export interface StartWorkflow {
  /** UUID; made by the caller so that a retried call starts one execution. */
  readonly executionId: string;
  readonly workflowId: string;
  readonly manifest: WorkflowManifest;
  /** Caller's goal; `{{intent}}`. */
  readonly intent?: string;
  /** Checked against `metadata.input_schema` before; `{{input.KEY}}`. */
  readonly input: Json;
  readonly blackboard?: JsonObject;
  readonly identity: Identity;
  /** Outermost first. */
  readonly ancestors?: readonly Ancestor[];
  readonly notify?: Notify;
  /** Of a run of svc.execute.intent. */
  readonly pipeline?: IntentPipeline;
}

/** Payload of the message Start. */
export function startPayload(request: StartWorkflow): JsonObject {
  const { intent, blackboard, ancestors, notify, pipeline } = request;
  return {
    execution_id: request.executionId,
    workflow_id: request.workflowId,
    manifest: plain(request.manifest),
    input: request.input,
    ...(intent === undefined ? {} : { intent }),
    ...(blackboard === undefined ? {} : { blackboard }),
    ...(ancestors === undefined ? {} : { ancestors: ancestors.map((ancestor) => ({ ...ancestor })) }),
    ...(notify === undefined ? {} : { notify }),
    ...(pipeline === undefined ? {} : { pipeline: { ...pipeline } }),
  };
}

/** A memo: a deployed manifest is started many times, and never changed. */
const plainManifests = new WeakMap<WorkflowManifest, Json>();

/** A manifest is plain data whose optional fields may be present and undefined; JSON has no undefined. */
function plain(manifest: WorkflowManifest): Json {
  const known = plainManifests.get(manifest);
  if (known !== undefined) return known;
  const json: Json = JSON.parse(JSON.stringify(manifest));
  plainManifests.set(manifest, json);
  return json;
}

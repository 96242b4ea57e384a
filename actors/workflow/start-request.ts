import type { WorkflowManifest } from '../../manifests/workflow/schema.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import type { Notify } from '../../runtime/notify.ts';

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
}

import { z } from 'zod';
import type { WorkflowManifest } from '../../manifests/workflow/schema.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import type { Notify } from '../../runtime/message.ts';
import { LIMITS } from './limits.ts';

export interface AncestryProblem {
  readonly reason: 'SubworkflowDepthExceeded' | 'SubworkflowCycleDetected';
  readonly message: string;
}

/**
 * Whether a workflow may run below these ancestors, outermost first (W14). Null: it
 * may. `workflowId` is absent while only the depth can be told. Whoever starts a child asks this before it does.
 */
export function ancestryProblem(
  ancestors: readonly Ancestor[],
  workflowId?: string,
  name?: string,
): AncestryProblem | null {
  const from = ancestors.findIndex((ancestor) => ancestor.workflow_id === workflowId);
  if (workflowId !== undefined && from !== -1) {
    const cycle = ancestors.slice(from).map((ancestor) => ancestor.name);
    const path = [...cycle, name ?? ancestors[from]?.name ?? workflowId].join(' -> ');
    return { reason: 'SubworkflowCycleDetected', message: `SubworkflowCycleDetected: ${path}` };
  }
  if (ancestors.length > LIMITS.childDepth) {
    const message = `SubworkflowDepthExceeded: depth ${ancestors.length}, at most ${LIMITS.childDepth}`;
    return { reason: 'SubworkflowDepthExceeded', message };
  }
  return null;
}

/** The problem an effect refused a start with: its message begins with the name, as `ancestryProblem` wrote it. */
export function ancestryReason(message: string): AncestryProblem['reason'] | null {
  if (message.startsWith('SubworkflowCycleDetected')) return 'SubworkflowCycleDetected';
  if (message.startsWith('SubworkflowDepthExceeded')) return 'SubworkflowDepthExceeded';
  return null;
}

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

/** Said at the start of a run that is an intent pipeline (svc.execute.intent): its events tell that too. */
export const IntentPipeline = z.object({
  language: z.string().max(64),
  workspace_volume_id: z.string().max(128).nullable(),
  /** Of the agent that was found by search, 0 to 1; absent when none was. */
  agent_similarity_score: z.number().optional(),
});

export type IntentPipeline = z.output<typeof IntentPipeline>;

import { z } from 'zod';
import type { RunLabels } from '../../manifests/metadata.ts';
import type { WorkflowManifest } from '../../manifests/workflow/schema.ts';
import type { Identity } from '../../runtime/identity.ts';
import { type Json, type JsonObject, plainJson, plainObject } from '../../runtime/json.ts';
import type { Notify } from '../../runtime/message.ts';
import type { ForkedWork } from '../../runtime/recording/forked-work.ts';
import { RUN_RULES } from '../run-rules.ts';
import { LIMITS } from './limits.ts';

export interface AncestryProblem {
  readonly reason: 'SubworkflowDepthExceeded' | 'SubworkflowCycleDetected';
  readonly message: string;
}

/**
 * Why a workflow may not run below these ancestors, outermost first (W14); null when it may. `workflowId` is absent while it is
 * unknown; then only the depth is checked. Every start of a child checks this first.
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

/** The problem in an effect's refusal: its message begins with the name that `ancestryProblem` wrote. */
export function ancestryReason(message: string): AncestryProblem['reason'] | null {
  if (message.startsWith('SubworkflowCycleDetected')) return 'SubworkflowCycleDetected';
  if (message.startsWith('SubworkflowDepthExceeded')) return 'SubworkflowDepthExceeded';
  return null;
}

/** A workflow above another one, for the checks of depth and cycles. */
export interface Ancestor {
  readonly workflow_id: string;
  readonly name: string;
  readonly execution_id: string;
}

export interface StartWorkflow {
  /** UUID; made by the caller, so that a retried call starts one execution. */
  readonly executionId: string;
  readonly workflowId: string;
  readonly manifest: WorkflowManifest;
  /** Caller's goal; `{{intent}}`. */
  readonly intent?: string;
  /** Checked against `metadata.input_schema` by the caller; `{{input.KEY}}`. */
  readonly input: Json;
  readonly blackboard?: JsonObject;
  /** Lists filter by these. */
  readonly labels?: RunLabels;
  readonly identity: Identity;
  /** Outermost first. */
  readonly ancestors?: readonly Ancestor[];
  readonly notify?: Notify;
  /** For runs of svc.execute.intent. */
  readonly pipeline?: IntentPipeline;
  /** Start as a fork of another run. */
  readonly fork?: WorkflowFork;
}

interface WorkflowFork {
  readonly work: ForkedWork;
  readonly changed: readonly ('input' | 'blackboard' | 'manifest')[];
}

/** Payload of the messages Start and Fork. */
export function startPayload(request: StartWorkflow): JsonObject {
  const { executionId: execution_id, workflowId: workflow_id, intent, input, blackboard } = request;
  const { ancestors, labels, notify, pipeline } = request;
  const payload = {
    execution_id,
    workflow_id,
    intent,
    ancestors,
    labels,
    notify,
    pipeline,
    rules: RUN_RULES,
    ...request.fork,
  };
  // These may have megabytes, and are JSON already, so they are not copied.
  const values: JsonObject = blackboard === undefined ? { input } : { input, blackboard };
  return { ...plainObject(payload), ...values, manifest: plainManifest(request.manifest) };
}

/** Cached: a deployed manifest is started many times and never changed. */
const plainManifests = new WeakMap<WorkflowManifest, Json>();

function plainManifest(manifest: WorkflowManifest): Json {
  const known = plainManifests.get(manifest);
  if (known !== undefined) return known;
  const json = plainJson(manifest);
  plainManifests.set(manifest, json);
  return json;
}

/** Given at the start of an intent pipeline (svc.execute.intent), which then also emits its own events. */
export const IntentPipeline = z.object({
  language: z.string().max(64),
  workspace_volume_id: z.string().max(128).nullable(),
  /** Score of the agent that the search found, 0 to 1; absent when it found none. */
  agent_similarity_score: z.number().optional(),
});

export type IntentPipeline = z.output<typeof IntentPipeline>;

import { z } from 'zod';
import type { WorkflowManifest } from '../../manifests/workflow/schema.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import type { Notify } from '../../runtime/one-at-a-time.ts';
import { keepHead } from '../execution/bounded-text.ts';
import { isJsonObject, own } from './blackboard.ts';
import { LIMITS } from './limits.ts';
import type { WorkflowTurn } from './messages.ts';
import type { EndedWorkflow, IdleWorkflow } from './state.ts';

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

/** Texts in events: as much as of a state's output. */
const shown = (text: string): string => keepHead(text, LIMITS.eventOutputBytes / 4);

/** What a completed pipeline came to, from the output of its last state. */
export function pipelineResult(output: Json): {
  readonly final_result: string;
  readonly reused_existing_agent: boolean;
} {
  const text = (key: string): string => {
    const value = isJsonObject(output) ? own(output, key) : undefined;
    return typeof value === 'string' ? value : '';
  };
  const end = text('cut') === 'yes' ? '\n[cut: the program printed more than is kept]' : '';
  return {
    final_result: `${text('final_result')}${end}`,
    reused_existing_agent: text('reused_existing_agent') === 'yes',
  };
}

export function tellPipelineStarted({ pipeline, execution_id, intent, started_at }: IdleWorkflow, turn: WorkflowTurn) {
  if (pipeline === undefined) return;
  const { language, workspace_volume_id } = pipeline;
  const told = { execution_id, intent: shown(intent ?? ''), language, workspace_volume_id, started_at };
  turn.emit('IntentExecutionPipelineStarted', told);
}

/** Before the last event of the run, behind which there is nothing. One that was cancelled has failed. */
export function tellPipelineEnded(
  { pipeline, execution_id, current_state: failed_at_state, started_at }: IdleWorkflow,
  { status, reason, output }: Pick<EndedWorkflow, 'status' | 'reason'> & { readonly output: Json },
  turn: WorkflowTurn,
): void {
  if (pipeline === undefined) return;
  const at = new Date(turn.now).toISOString();
  if (status !== 'completed') {
    const told = { execution_id, failed_at_state, reason: reason ?? status, failed_at: at };
    turn.emit('IntentExecutionPipelineFailed', told);
    return;
  }
  const { final_result, reused_existing_agent } = pipelineResult(output);
  const { agent_similarity_score } = pipeline;
  turn.emit('IntentExecutionPipelineCompleted', {
    execution_id,
    final_result: shown(final_result),
    duration_ms: turn.now - Date.parse(started_at),
    reused_existing_agent,
    ...(agent_similarity_score === undefined || !reused_existing_agent ? {} : { agent_similarity_score }),
    completed_at: at,
  });
}

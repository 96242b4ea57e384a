import { z } from 'zod';
import { RunLabels } from '../../manifests/metadata.ts';
import type { WorkflowManifest } from '../../manifests/workflow/schema.ts';
import type { Turn } from '../../runtime/define-actor.ts';
import { EffectResult } from '../../runtime/effect.ts';
import { jsonField, jsonObjectField } from '../../runtime/json.ts';
import { compiledWhenHot } from '../../runtime/kit/hot-schema.ts';
import { Notify } from '../../runtime/message.ts';
import { ForkedWork } from '../../runtime/recording/forked-work.ts';
import { ApprovalUpdate } from '../approval/messages.ts';
import { ExecutionUpdate } from '../execution/update.ts';
import { PanelConcluded } from '../judge-panel/messages.ts';
import type { workflowEvents } from './events.ts';
import { IntentPipeline } from './start-request.ts';

/**
 * Payload of the messages that a workflow sends to the actor in `notify` of its start: one when it starts, one when it ends. A
 * parent that no longer needs it answers the first with Cancel.
 */
export const WorkflowUpdate = z.object({
  execution_id: z.string(),
  workflow_id: z.string(),
  status: z.enum(['running', 'completed', 'failed', 'cancelled']),
  /** Code of a failure, reason of a cancel. */
  reason: z.string().nullable(),
  /** The failure, for people. */
  error: z.string().nullable().default(null),
  /** Output of its last state, or the one that `finalize` rendered; null unless completed. */
  output: jsonField,
  /** Final blackboard; empty until it has ended. */
  blackboard: jsonObjectField,
  context: jsonField,
});

export type WorkflowUpdate = z.output<typeof WorkflowUpdate>;

/** The parts of a manifest that runs use. The catalog validated the whole manifest at deployment. */
const manifestShape = compiledWhenHot(
  z.looseObject({
    metadata: z.looseObject({ name: z.string(), version: z.string(), annotations: z.looseObject({}) }),
    spec: z.looseObject({
      initial_state: z.string(),
      context: z.looseObject({}),
      storage: z.looseObject({ shared_volumes: z.array(z.unknown()) }),
      states: z.looseObject({}),
    }),
  }),
);

/** Manifests that were checked. Each turn of a run has the same object, which is never changed in place. */
const checked = new WeakSet<object>();

export const manifestField = z.custom<WorkflowManifest>((value) => {
  if (typeof value !== 'object' || value === null) return false;
  if (checked.has(value)) return true;
  const { success } = manifestShape().safeParse(value);
  if (success) checked.add(value);
  return success;
}, 'expected a normalised workflow manifest');

const id = z.string().min(1).max(128);

export const Ancestor = z.object({ workflow_id: z.string(), name: z.string(), execution_id: z.string() });

/**
 * Starts a run; only this message and `Fork` create one. Starting again under the same id gets the same answer and starts
 * nothing.
 */
export const Start = z.object({
  execution_id: id,
  workflow_id: id,
  /** Normalised manifest, as the catalog stores it. */
  manifest: manifestField,
  intent: z.string().optional(),
  input: jsonField,
  blackboard: jsonObjectField.optional(),
  ancestors: z.array(Ancestor).max(100).default([]),
  labels: RunLabels.optional(),
  notify: Notify.optional(),
  pipeline: IntentPipeline.optional(),
  /** `RUN_RULES` of the sender; absent in starts of earlier versions. */
  rules: z.number().int().optional(),
});

export type Start = z.output<typeof Start>;

/**
 * Creates a fork of another run, instead of `Start`: it continues from the state in the message. The fields of a start are the
 * values with which it continues; `blackboard` has only the changed entries.
 */
export const Fork = Start.extend({
  work: ForkedWork,
  /** The parts that differ from the original. The waiting state is begun again with them. */
  changed: z.array(z.enum(['input', 'blackboard', 'manifest'])).max(3),
});

export type Fork = z.output<typeof Fork>;

/** Number of the state's entry in the run, which identifies the timer of an earlier state. */
const entry = z.object({ entry: z.number().int() });

/** Messages of a run. Late and repeated ones change nothing: an update or a result counts only while it is awaited. */
export const workflowMessages = {
  Start,
  Fork,
  Cancel: z.object({ reason: z.string().max(1_000).optional() }),
  /** The run continues after a long chain of states that did not wait. */
  Continue: entry,
  StateTimedOut: entry,
  /** The pause before the next attempt of a container is over. */
  RetryContainer: entry,
  /** Results of effects. */
  VolumesPrepared: EffectResult,
  CommandEnded: EffectResult,
  ContainerEnded: EffectResult,
  AgentStarted: EffectResult,
  ChildStarted: EffectResult,
  /** Updates of other actors. The names are stored with their requests (`notify.as`), so they stay. */
  AgentWord: ExecutionUpdate,
  ChildWord: WorkflowUpdate,
  PanelWord: PanelConcluded,
  ApprovalWord: ApprovalUpdate,
} as const;

export type WorkflowTurn = Turn<typeof workflowEvents, typeof workflowMessages>;

import { z } from 'zod';
import { KnownVolume, RunLabels } from '../../manifests/metadata.ts';
import type { StateSpec } from '../../manifests/workflow/schema.ts';
import { Identity } from '../../runtime/identity.ts';
import { jsonField, jsonObjectField } from '../../runtime/json.ts';
import { Notify } from '../../runtime/message.ts';
import { ForkedFrom } from '../../runtime/recording/forked-work.ts';
import { own } from './json-values.ts';
import { Ancestor, manifestField } from './messages.ts';
import { IntentPipeline } from './start-request.ts';

/** The id of an effect; null once it has answered. */
const effect = z.string().nullable();

const repeats = z.number().int();

/**
 * The one thing that a run waits for. A message counts only when it names its id, so a late or repeated one changes nothing.
 */
export const Awaiting = z.discriminatedUnion('kind', [
  /** Volumes of `spec.storage`, before the first state. */
  z.object({ kind: z.literal('volumes'), effect_id: z.string() }),
  /** Its own message Continue. */
  z.object({ kind: z.literal('turn'), target: z.string() }),
  z.object({ kind: z.literal('agent'), effect_id: effect, execution_id: z.string() }),
  z.object({ kind: z.literal('command'), effect_id: z.string(), repeats }),
  z.object({
    kind: z.literal('approval'),
    approval_id: z.string(),
    prompt: z.string(),
    opened: z.boolean(),
    /** `repeat`: the question whether to run a command in doubt again, after this many repeats. */
    about: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('input') }),
      z.object({ kind: z.literal('repeat'), repeats }),
    ]),
  }),
  z.object({ kind: z.literal('panel'), panel_id: z.string(), judges: z.number().int() }),
  z.object({
    kind: z.literal('container'),
    /** Null during the pause before the next attempt. */
    effect_id: effect,
    attempt: z.number().int(),
    retry_at: z.string().nullable(),
  }),
  z.object({
    kind: z.literal('containers'),
    /** Step name -> effect that has not answered. */
    effects: z.record(z.string(), z.string()),
    results: jsonObjectField,
    bytes: z.number().int(),
  }),
  z.object({
    kind: z.literal('child'),
    effect_id: effect,
    execution_id: z.string(),
    /** Null until the child or the answer to its start gives it. */
    workflow_id: z.string().nullable(),
    /** Whether the child's own update has reported its start. */
    runs: z.boolean(),
  }),
]);

export type Awaiting = z.output<typeof Awaiting>;

export type AwaitingOf<Kind extends Awaiting['kind']> = Extract<Awaiting, { kind: Kind }>;

const core = {
  execution_id: z.string(),
  workflow_id: z.string(),
  workflow_name: z.string(),
  workflow_version: z.string(),
  intent: z.string().nullable(),
  input: jsonField,
  blackboard: jsonObjectField,
  /** State -> number of entries. These states have an entry on the blackboard. */
  visits: z.record(z.string(), z.number().int()),
  current_state: z.string().nullable(),
  /** Steps that were run again after an outcome in doubt, over the whole run. */
  in_doubt: z.number().int(),
  /** The only subject, besides operators, that sees it; absent: every caller of the tenant does. */
  owner: z.string().optional(),
  /** Given at its start; absent: none. */
  labels: RunLabels.optional(),
  /** Trace of its start; absent in runs of earlier versions. */
  trace_id: z.string().optional(),
  /** The run and the message that it was forked from; absent: it began with a start. */
  forked_from: ForkedFrom.optional(),
  /** `RUN_RULES` of its start; absent: 0. */
  rules: z.number().int().optional(),
  notify: Notify.optional(),
  started_at: z.string(),
  last_transition_at: z.string(),
};

/** Volume ids behind `{{workflow.storage…}}`. */
const Storage = z.object({
  workspace: z.string(),
  /** The default workspace of a run, created by the first step that needs it. */
  implicit: z.boolean(),
  shared: z.record(z.string(), z.string()),
  /** By id, once created. Absent in runs of earlier versions: then the records are looked up. */
  known: z.record(z.string(), KnownVolume).optional(),
});

const Pending = z.object({ status: z.literal('pending') });

const Running = z.object({
  /** `waiting_for_human_input` only once the approval is committed as pending (R2). */
  status: z.enum(['running', 'waiting_for_human_input']),
  ...core,
  /** Read only. */
  manifest: manifestField,
  identity: Identity,
  ancestors: z.array(Ancestor),
  pipeline: IntentPipeline.optional(),
  /** Copy of `spec.context` for `update_context` to change. */
  context: jsonObjectField,
  storage: Storage,
  blackboard_bytes: z.number().int(),
  /** `{{state.feedback}}` of the current state; empty when its transition gave none. */
  feedback: z.string(),
  /** `{{human.feedback}}`; null before the first answer. */
  human_feedback: z.string().nullable(),
  /** States entered so far: the number of the current entry. */
  entry: z.number().int(),
  /** The node's setting at the start of the run. */
  max_transitions: z.number().int(),
  /**
   * The pending timer of its states: when the time of the current state is over, and when it fires, which may be before that.
   * Absent: none is pending, or the run has rules below 4.
   */
  timer: z.object({ ends_at: z.number(), fires_at: z.number() }).optional(),
  awaiting: Awaiting,
});

const Ended = z.object({
  status: z.enum(['completed', 'failed', 'cancelled']),
  ...core,
  /** Code of a failure, reason of a cancel, null when completed. */
  reason: z.string().nullable(),
  error: z.string().nullable(),
  ended_at: z.string(),
});

/** State of a run. It is bounded (limits.ts): the event log has the history, the state only counters. */
export const WorkflowState = z.discriminatedUnion('status', [Pending, Running, Ended]);

export type WorkflowState = z.output<typeof WorkflowState>;

export type RunningWorkflow = z.output<typeof Running>;

export type EndedWorkflow = z.output<typeof Ended>;

/** A run between two steps. */
export type IdleWorkflow = Omit<RunningWorkflow, 'awaiting'>;

export const isRunning = (state: WorkflowState): state is RunningWorkflow =>
  state.status === 'running' || state.status === 'waiting_for_human_input';

/** The current state in the manifest. */
export function currentStep(run: IdleWorkflow): StateSpec {
  const step = own(run.manifest.spec.states, run.current_state ?? '');
  if (step === undefined) throw new Error(`the manifest has no state ${run.current_state}`);
  return step;
}

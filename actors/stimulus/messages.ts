import { z } from 'zod';
import type { Turn } from '../../runtime/define-actor.ts';
import { EffectResult } from '../../runtime/effect.ts';
import { Identity } from '../../runtime/identity.ts';
import { ExecutionUpdate } from '../execution/update.ts';

const ContentEncoding = z.literal('base64');

/** Route of a stimulus, from the routing table at the time of its arrival. */
export const Routing = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('direct'), workflow: z.string() }),
  z.object({
    kind: z.literal('router'),
    agent: z.string(),
    /** Minimum confidence. */
    threshold: z.number(),
    timeout_ms: z.number().int().min(1),
  }),
  z.object({ kind: z.literal('none') }),
]);

export type Routing = z.output<typeof Routing>;

/** A delivery. The message carries the identity. */
export const Receive = z.object({
  source: z.string().min(1).max(200),
  content: z.string(),
  content_encoding: ContentEncoding.optional(),
  /** Lower-case names; headers with secrets are omitted. */
  headers: z.record(z.string(), z.string()),
  /** Time in which a delivery with the same key counts as a repeat. */
  window_ms: z.number().int().min(1),
  /** Answer to a repeat: a refusal, or the outcome of the first delivery. Default `refuse`. */
  repeat: z.enum(['refuse', 'answer']).optional(),
  routing: Routing,
});

export type Receive = z.output<typeof Receive>;

export const Received = z.object({
  stimulus_id: z.string(),
  workflow_execution_id: z.string(),
  /** Number of this actor's last event before this delivery. */
  after: z.number().int(),
  /** For a repeat: whether the first delivery has its workflow. */
  first: z.enum(['pending', 'routed']).optional(),
});

export const stimulusMessages = {
  Receive,
  RouterStarted: EffectResult,
  RouterSaid: ExecutionUpdate,
  ClassificationTimedOut: z.object({ stimulus_id: z.string() }),
  WorkflowStarted: EffectResult,
  /** The window of repeats is over. */
  Forget: z.object({}),
} as const;

export type StimulusTurn = Turn<typeof stimulusEvents, typeof stimulusMessages>;

/** Events of one delivery (H26): StimulusReceived, then exactly one of the others. */
export const stimulusEvents = {
  StimulusReceived: z.object({ stimulus_id: z.string(), source: z.string(), received_at: z.string() }),
  /** The start of its workflow is durable. */
  StimulusClassified: z.object({
    stimulus_id: z.string(),
    workflow_id: z.string(),
    workflow_name: z.string(),
    workflow_execution_id: z.string(),
    routing_mode: z.enum(['Deterministic', 'LlmClassified']),
    confidence: z.number(),
    classified_at: z.string(),
  }),
  /** `code` is a code of the error table, `reason` its text. */
  StimulusRejected: z.object({
    stimulus_id: z.string(),
    code: z.string(),
    reason: z.string(),
    rejected_at: z.string(),
  }),
  ClassificationFailed: z.object({
    stimulus_id: z.string(),
    code: z.string(),
    error: z.string(),
    failed_at: z.string(),
  }),
} as const;

/** Fields of every delivery from its first turn on. */
const Delivery = z.object({
  stimulus_id: z.string(),
  /** Id of the workflow execution, whether it was started or not. */
  workflow_execution_id: z.string(),
  source: z.string(),
  received_at: z.string(),
  identity: Identity,
});

export const RoutingMode = z.discriminatedUnion('mode', [
  z.object({ mode: z.literal('Deterministic') }),
  z.object({ mode: z.literal('LlmClassified'), confidence: z.number() }),
]);

export type RoutingMode = z.output<typeof RoutingMode>;

export const Outcome = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('routed'), workflow_id: z.string(), workflow_name: z.string() }),
  z.object({ kind: z.literal('rejected'), code: z.string(), reason: z.string() }),
]);

export type Outcome = z.output<typeof Outcome>;

/** `expires_at`: end of the window, Unix ms. `emitted`: number of events so far. */
const kept = { delivery: Delivery, expires_at: z.number(), emitted: z.number().int() } as const;

/**
 * new → (classifying →) starting → settled → over. A rejected delivery starts nothing, so a repeat of it is received as new by
 * the same actor. Content and headers are stored only while the router may need them.
 */
export const StimulusState = z.discriminatedUnion('status', [
  z.object({ status: z.literal('new') }),
  z.object({
    ...kept,
    status: z.literal('classifying'),
    content: z.string(),
    content_encoding: ContentEncoding.optional(),
    headers: z.record(z.string(), z.string()),
    /** The router agent's execution, and the effect that starts it. */
    router_execution_id: z.string(),
    effect_id: z.string(),
    threshold: z.number(),
  }),
  z.object({ ...kept, status: z.literal('starting'), routing: RoutingMode, workflow: z.string() }),
  z.object({ ...kept, status: z.literal('settled'), outcome: Outcome }),
  z.object({ ...kept, status: z.literal('over'), outcome: Outcome }),
]);

export type StimulusState = z.output<typeof StimulusState>;

export type Known = Exclude<StimulusState, { status: 'new' }>;

export type Classifying = Extract<StimulusState, { status: 'classifying' }>;

export type Starting = Extract<StimulusState, { status: 'starting' }>;

export type Settled = Extract<StimulusState, { status: 'settled' }>;

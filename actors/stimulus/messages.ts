import { z } from 'zod';
import type { Turn } from '../../runtime/define-actor.ts';
import { EffectResult } from '../../runtime/effect.ts';
import { Identity } from '../../runtime/identity.ts';
import { ExecutionUpdate } from '../execution/update.ts';

const ContentEncoding = z.literal('base64');

/** Where a stimulus goes, as the routing table of the moment it came says. */
export const Routing = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('direct'), workflow: z.string() }),
  z.object({
    kind: z.literal('router'),
    agent: z.string(),
    /** Least confidence that is enough. */
    threshold: z.number(),
    timeout_ms: z.number().int().min(1),
  }),
  z.object({ kind: z.literal('none') }),
]);

export type Routing = z.output<typeof Routing>;

/** A delivery. The identity is the message's. */
export const Receive = z.object({
  source: z.string().min(1).max(200),
  content: z.string(),
  content_encoding: ContentEncoding.optional(),
  /** Lower-case names; none that carries a secret. */
  headers: z.record(z.string(), z.string()),
  /** How long another one is a repeat of this one. */
  window_ms: z.number().int().min(1),
  /** What it is told if it is a repeat itself: that it is refused, or what became of the first one. Default `refuse`. */
  repeat: z.enum(['refuse', 'answer']).optional(),
  routing: Routing,
});

export type Receive = z.output<typeof Receive>;

export const Received = z.object({
  stimulus_id: z.string(),
  workflow_execution_id: z.string(),
  /** Events of this actor before those to come of this delivery. */
  after: z.number().int(),
  /** Of a repeat: whether the first one has its workflow. */
  first: z.enum(['pending', 'routed']).optional(),
});

export const stimulusMessages = {
  Receive,
  RouterStarted: EffectResult,
  RouterSaid: ExecutionUpdate,
  ClassificationTimedOut: z.object({ stimulus_id: z.string() }),
  WorkflowStarted: EffectResult,
  /** A repeat is no duplicate any more. */
  Forget: z.object({}),
} as const;

export type StimulusTurn = Turn<typeof stimulusEvents, typeof stimulusMessages>;

/** What happened to one delivery (H26): StimulusReceived, then exactly one of the others. */
export const stimulusEvents = {
  StimulusReceived: z.object({ stimulus_id: z.string(), source: z.string(), received_at: z.string() }),
  /** Its workflow is durably started. */
  StimulusClassified: z.object({
    stimulus_id: z.string(),
    workflow_id: z.string(),
    workflow_name: z.string(),
    workflow_execution_id: z.string(),
    routing_mode: z.enum(['Deterministic', 'LlmClassified']),
    confidence: z.number(),
    classified_at: z.string(),
  }),
  /** `code` is one of the error table, `reason` its text. */
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

/** What every delivery has from its first turn on. */
const Delivery = z.object({
  stimulus_id: z.string(),
  /** Execution that is or would be started for it. */
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

/** Unix ms until which a repeat is a duplicate, and how many events this actor has emitted. */
const kept = { delivery: Delivery, expires_at: z.number(), emitted: z.number().int() } as const;

/**
 * new → (classifying →) starting → settled → over. A rejected one starts nothing, so its repeat is no duplicate: it is
 * received anew, in the same actor. Content and headers are kept only as long as the router may need them.
 */
export const StimulusState = z.discriminatedUnion('status', [
  z.object({ status: z.literal('new') }),
  z.object({
    ...kept,
    status: z.literal('classifying'),
    content: z.string(),
    content_encoding: ContentEncoding.optional(),
    headers: z.record(z.string(), z.string()),
    /** Execution of the router agent, and the effect that starts it. */
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

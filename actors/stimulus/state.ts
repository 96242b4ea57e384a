import { z } from 'zod';
import { Identity } from '../../runtime/identity.ts';
import { ContentEncoding } from './messages.ts';

/** What every delivery has from its first turn on. */
const Delivery = z.object({
  stimulus_id: z.string(),
  /** Execution that is or would be started for it. */
  workflow_execution_id: z.string(),
  source: z.string(),
  received_at: z.string(),
  identity: Identity,
});
export type Delivery = z.output<typeof Delivery>;

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

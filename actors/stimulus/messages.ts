import { z } from 'zod';
import type { Turn } from '../../runtime/define-actor.ts';
import { EffectResult } from '../../runtime/effect.ts';
import { ExecutionWord } from '../execution/word.ts';
import type { stimulusEvents } from './events.ts';

export const ContentEncoding = z.literal('base64');

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
  RouterSaid: ExecutionWord,
  ClassificationTimedOut: z.object({ stimulus_id: z.string() }),
  WorkflowStarted: EffectResult,
  /** A repeat is no duplicate any more. */
  Forget: z.object({}),
} as const;

export type StimulusTurn = Turn<typeof stimulusEvents, typeof stimulusMessages>;

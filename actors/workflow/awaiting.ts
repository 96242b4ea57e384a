import { z } from 'zod';
import { jsonObjectField } from './json-field.ts';

/** An effect that has not answered; null once it has. */
const effect = z.string().nullable();
const repeats = z.number().int();

/**
 * The one thing a run waits for. A message counts only when it names what is here, so a late, repeated or foreign one
 * changes nothing.
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
    /** `repeat`: whether a command in doubt is run again, after so many repeats. */
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
    /** Null until the child or its start has said so. */
    workflow_id: z.string().nullable(),
    /** Whether the child itself has said that it runs. */
    runs: z.boolean(),
  }),
]);
export type Awaiting = z.output<typeof Awaiting>;
export type AwaitingOf<Kind extends Awaiting['kind']> = Extract<Awaiting, { kind: Kind }>;

import { z } from 'zod';
import type { Address } from './address.ts';
import { type Json, jsonField } from './json.ts';

/** Payload schema of the message that brings an effect's result. Use it in a definition's `messages`. */
export const EffectResult = z.object({
  effectId: z.string(),
  kind: z.string(),
  attempt: z.number().int(),
  /** Echo of the request's `context`. */
  context: jsonField.optional(),
  outcome: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('done'), value: jsonField }),
    z.object({ kind: z.literal('failed'), code: z.string(), message: z.string() }),
    /** A `once` effect had started when its node died (E2); nothing repeated it. */
    z.object({ kind: z.literal('in_doubt') }),
  ]),
});
export type EffectResult = z.infer<typeof EffectResult>;

/** Payload schema of an intermediate result. */
export const EffectProgress = z.object({
  effectId: z.string(),
  attempt: z.number().int(),
  context: jsonField.optional(),
  value: jsonField,
});
export type EffectProgress = z.infer<typeof EffectProgress>;

/** What a running effect knows and may do. */
export interface EffectContext {
  readonly effectId: string;
  readonly attempt: number;
  readonly tenant: string;
  readonly address: Address;
  /** Whose turn it counts as among those of its tenant (`ActorDefinition.fairnessKey`). */
  readonly fairnessKey?: string;
  /** W3C trace id of the turn that asked: what the effect starts belongs to the same tree of causes. */
  readonly trace: string;
  /** How long this attempt may take, milliseconds; then it is aborted. Absent: without end. */
  readonly timeoutMs?: number;
  /** Of an attempt after the first: how long before it the effect was asked for, milliseconds, by the nodes' clocks. */
  readonly askedAgoMs?: number;
  /**
   * Aborted on cancel, time-out, shutdown, and once the store says that the claim is lost: stop at once (kill the process group, drop the socket). The
   * reason is an `SvcError`: only `cancelled` means that nobody wants the work any more; after `lease_lost` (claim
   * lost, node stopping) and `deadline_exceeded` another attempt may go on with it.
   */
  readonly signal: AbortSignal;
  /** Sends an intermediate result; resolves when it is durable. False: the effect is no longer wanted. */
  progress(value: Json): Promise<boolean>;
  /**
   * Waits for something that takes no work of this node: meanwhile another effect has this one's place (`concurrency`),
   * and its claim is renewed seldom. `waiting` must heed the signal. Goes on as soon as there is a place to go on in.
   */
  parked<T>(waiting: Promise<T>): Promise<T>;
  /**
   * Makes a call of a store of this node again, parked, for as long as that store is away (`storeAway`); rejects with the
   * signal's reason when the effect is stopped meanwhile. For calls that may be repeated, behind something that may not:
   * what a model or a tool answered is not asked for again because a store was away. The runner does the same with a
   * whole handler that ends so, see `EffectHandler`.
   */
  patiently<T>(call: () => Promise<T>): Promise<T>;
}

/**
 * Work in the world, by name. Throw an `SvcError`: kind `retry` is tried again by the request's policy (after
 * `retryAfterMs` when given), anything else is the effect's failure. When a store of this node was away (`storeAway`) the
 * same attempt waits for it and runs again, which counts as no attempt; an effect of mode `once` does so only where its
 * request has a retry policy, that is, where its handler throws kind `retry` only before it has acted.
 */
export interface EffectHandler<Input extends z.ZodType = z.ZodType> {
  readonly kind: string;
  readonly input: Input;
  /** As `once` its claim lasts for `RuntimeSettings.commandClaimTtlMs`: such work cannot be taken over, only be lost. */
  readonly lasting?: boolean;
  run(input: z.output<Input>, context: EffectContext): Promise<Json>;
}

export function defineEffect<Input extends z.ZodType>(handler: EffectHandler<Input>): EffectHandler<Input> {
  return handler;
}

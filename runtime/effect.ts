import { z } from 'zod';
import type { Address } from './address.ts';
import { type Json, jsonField } from './json.ts';
import { checkHandler } from './turns/check-definition.ts';

/** Payload schema of the message that delivers an effect's result. Use it in a definition's `messages`. */
export const EffectResult = z.object({
  effectId: z.string(),
  kind: z.string(),
  attempt: z.number().int(),
  /** The request's `context`, unchanged. */
  context: jsonField.optional(),
  /** Node that ran the attempt, and when it began by that node's clock, Unix ms. Absent in results of earlier versions. */
  node: z.string().optional(),
  startedAtMs: z.number().optional(),
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

/** Context of a running effect. */
export interface EffectContext {
  readonly effectId: string;
  readonly attempt: number;
  readonly tenant: string;
  readonly address: Address;
  /** The agent or workflow that it counts for within its tenant (`ActorDefinition.fairnessKey`). */
  readonly fairnessKey?: string;
  /**
   * W3C trace id of the turn that requested the effect. Messages and runs that the effect starts carry the same trace.
   */
  readonly trace: string;
  /** Longest time that this attempt may take, milliseconds; then it is aborted. Absent: no limit. */
  readonly timeoutMs?: number;
  /**
   * For attempts after the first: how long ago the effect was requested when the attempt began, milliseconds, by the
   * nodes' clocks.
   */
  readonly askedAgoMs?: number;
  /**
   * Aborted on cancel, time-out, shutdown, and when the store says that the claim is lost. Stop at once: kill the
   * process group, close the socket. The reason is an `SvcError`: only `cancelled` means that the work is no longer
   * wanted; after `lease_lost` (claim lost, node stopping) and `deadline_exceeded` another attempt may continue it.
   */
  readonly signal: AbortSignal;
  /**
   * Sends an intermediate result and resolves when it is durable. With a request that says `ahead` it may resolve earlier: the
   * progress is then handled before the result, if the effect's start is written. False: the effect is no longer wanted.
   */
  progress(value: Json): Promise<boolean>;
  /**
   * Waits for something that uses no resources of this node. Meanwhile another effect gets this one's slot
   * (`concurrency`), and the claim is renewed less often. `waiting` must react to the signal. Continues as soon as a
   * slot is free.
   */
  parked<T>(waiting: Promise<T>): Promise<T>;
  /**
   * Waits like `parked`, for minutes and in thousands of effects at once, without keeping the run in memory. The first call
   * throws and so ends this run of the handler, which must not catch it. Once the wait has ended, the handler runs again from
   * its beginning, in the same attempt; the same call then returns the value of the wait, or throws its error. A handler may
   * have one such wait, and its work before the wait must be repeatable.
   */
  waitedFor(wait: HandlerWait): boolean;
  /** Set when the handler runs again after `waitedFor`. */
  readonly resumed?: { /** When the attempt began, Unix ms. */ readonly startedAtMs: number };
  /**
   * Calls a store of this node and repeats the call, parked, while that store is unavailable (`unreachableStore`). Rejects with the
   * signal's reason when the effect is stopped meanwhile. Use it for calls that may be repeated after work that may not: an
   * unavailable store must not cause a second request to a model or a tool. The runner does the same with a whole handler that
   * fails this way; see `EffectHandler`.
   */
  retryWhileUnavailable<T>(call: () => Promise<T>): Promise<T>;
}

/** Begins a wait that reacts to the signal. */
export type HandlerWait = (signal: AbortSignal) => Promise<boolean>;

/** Thrown by `EffectContext.waitedFor`: the handler runs again once the wait has ended. */
export class HandlerWaits extends Error {
  override readonly name = 'HandlerWaits';
  readonly wait: HandlerWait;

  constructor(wait: HandlerWait) {
    super('the handler runs again after its wait');
    this.wait = wait;
  }
}

/**
 * Runs the effects of one kind. To fail, throw an `SvcError`: kind `retry` is tried again by the request's policy
 * (after `retryAfterMs` when given), any other kind fails the effect. An error of another class fails it with code
 * `internal`, and only the log gets its text. When a store of this node was unavailable
 * (`unreachableStore`), the same attempt waits for it and runs again without counting as another attempt. An effect of mode
 * `once` does so only when its request has a retry policy, because its handler then throws kind `retry` only before it
 * has acted.
 */
export interface EffectHandler<Input extends z.ZodType = z.ZodType> {
  readonly kind: string;
  readonly input: Input;
  /**
   * In mode `once` its claim lasts for `RuntimeSettings.commandClaimTtlMs`, because such work cannot be taken over: it
   * can only be lost.
   */
  readonly lasting?: boolean;
  run(input: z.output<Input>, context: EffectContext): Promise<Json>;
}

/** Types the handler of an effect and checks it. Throws an error that names the field. Pass the result to `startRuntime`. */
export function defineEffect<Input extends z.ZodType>(handler: EffectHandler<Input>): EffectHandler<Input> {
  checkHandler(handler);
  return handler;
}

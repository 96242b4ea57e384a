import type { z } from 'zod';
import type { EffectMode } from '../actor-store.ts';
import type { Clock } from '../clock.ts';
import type { RetryPolicy } from '../define-actor.ts';
import type { EffectProgress, EffectResult, HandlerWait } from '../effect.ts';
import type { EffectJob } from '../effect-queue.ts';
import { ERRORS, SvcError, toSvcError } from '../errors.ts';
import { hasMoreChars, type Json } from '../json.ts';
import { backoffMs, jittered, sleep } from '../kit/waits.ts';
import type { Delivery } from '../message.ts';
import type { Random } from '../random.ts';
import { isSpilled } from '../turns/payload.ts';
import type { EffectEnvelope } from './effect-envelope.ts';
import type { RunnerSettings } from './effect-runner-claim.ts';

type Outcome = EffectResult['outcome'];

/** The part of a failure that an actor may read. The cause of a bug in this program stays in the log. */
export function failure(error: SvcError): Outcome {
  const message = error.row.kind === 'bug' ? ERRORS[error.code].message : error.message;
  return { kind: 'failed', code: error.code, message };
}

/** The failure of a request whose input does not fit its handler. */
export function invalidInput(kind: string, issues: readonly z.core.$ZodIssue[]): SvcError {
  const details = issues
    .slice(0, 20)
    .map((issue) => ({ path: issue.path.map(String).join('.'), message: said(issue) }));
  const text = details.map(({ path, message }) => `${path}: ${message}`).join('; ');
  return new SvcError('invalid_argument', `input of ${kind} does not fit: ${text}`, { details });
}

/** A name that a map does not take has the rule that it breaks one level below. */
const said = (issue: z.core.$ZodIssue): string =>
  issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;

/** One attempt of an effect: what its run and its report need. */
export interface Attempt {
  readonly settings: RunnerSettings;
  readonly job: EffectJob;
  readonly attempt: number;
  readonly envelope: EffectEnvelope;
  /** Ends the repetition of calls of the store. */
  readonly giveUp: AbortSignal;
  /** Set for an attempt that runs ahead of the commit that opens its effect. */
  readonly committed?: Promise<boolean> | undefined;
}

/** Most progress of an attempt that is held until the commit that opens its effect. */
const MOST_HELD = 16;

/** Progress with more characters is not held. */
const MOST_HELD_CHARS = 4_096;

/**
 * Sends progress and result of one attempt as messages to the actor that requested the effect. Ahead of the commit that
 * opens the effect, progress is held: a result that comes before that commit takes it along, so that one batch handles
 * all of it and none goes through the mailbox.
 */
export class EffectReport {
  readonly #of: Attempt;
  /** When the attempt began, Unix ms. */
  readonly startedAtMs: number;
  /** Whether progress goes through the mailbox. */
  #hasProgressed = false;
  #isHolding: boolean;
  #held: Promise<Delivery>[] = [];
  /** Resolves when the held progress was sent. */
  readonly #heldSent: Promise<boolean>;
  #last: Promise<boolean>;

  constructor(of: Attempt) {
    const { settings, committed } = of;
    this.#of = of;
    this.startedAtMs = settings.clock.now();
    this.#isHolding = committed !== undefined;
    this.#heldSent = committed === undefined ? Promise.resolve(true) : this.#sendHeld(committed);
    this.#last = this.#heldSent.catch(() => true);
  }

  /** Resolves when all progress so far was sent, or could not be. */
  async sent(): Promise<void> {
    await this.#last;
  }

  /** Sends an intermediate result; they arrive in the order of the calls. False: the attempt is no longer wanted. */
  progress(value: Json): Promise<boolean> {
    const { progressAs } = this.#of.envelope.request;
    if (progressAs === undefined || this.#holds(progressAs, value)) return Promise.resolve(true);
    this.#hasProgressed = true;
    const next = this.#last.then((wanted) => (wanted ? this.#sendProgress(progressAs, value) : false));
    this.#last = next.catch(() => true);
    return next;
  }

  /** Closes the effect after all its progress. False: it was cancelled or taken over, and the result is dropped. */
  async settle(outcome: Outcome): Promise<boolean> {
    try {
      return await this.#sendResult(outcome);
    } catch (error) {
      const cause = toSvcError(error);
      if (this.#of.giveUp.aborted || cause.code === 'unavailable') throw error;
      // The result cannot be sent (too large, not JSON). The actor gets that failure instead of waiting for ever.
      this.#of.settings.onFault(error, { effectId: this.#of.job.id, doing: 'sending a result' });
      return this.#sendResult(failure(cause));
    }
  }

  async #sendProgress(type: string, value: Json): Promise<boolean> {
    if ((await this.#of.committed) === false) return false;
    return this.#put(await this.#progressDelivery(type, value));
  }

  /** Holds progress while the commit is awaited. False: it must wait for the commit, and so must all that follows. */
  #holds(type: string, value: Json): boolean {
    if (!this.#isHolding) return false;
    this.#isHolding = this.#held.length < MOST_HELD && !hasMoreChars(value, MOST_HELD_CHARS);
    if (!this.#isHolding) return false;
    const delivery = this.#progressDelivery(type, value);
    // `#heldSent` and `settle` report it.
    delivery.catch(() => {});
    this.#held.push(delivery);
    return true;
  }

  /** Sends what is held once the commit has happened. False: the attempt is no longer wanted. */
  async #sendHeld(committed: Promise<boolean>): Promise<boolean> {
    const happened = await committed;
    this.#isHolding = false;
    const held = this.#held.splice(0);
    if (!happened) return false;
    if (held.length > 0) this.#hasProgressed = true;
    for (const one of held) if (!(await this.#put(await one))) return false;
    return true;
  }

  #progressDelivery(type: string, value: Json): Promise<Delivery> {
    const { job, attempt, envelope } = this.#of;
    const { context } = envelope.request;
    return this.#delivery(type, {
      effectId: job.id,
      attempt,
      ...(context === undefined ? {} : { context }),
      value,
    } satisfies EffectProgress);
  }

  #put(delivery: Delivery): Promise<boolean> {
    const { settings, job, attempt, giveUp } = this.#of;
    return persist(() => settings.store.progressEffect(job.partition, job.id, attempt, delivery), settings, giveUp);
  }

  async #sendResult(outcome: Outcome): Promise<boolean> {
    const { settings, job, attempt, envelope, giveUp } = this.#of;
    const { kind, replyAs, context } = envelope.request;
    const payload = {
      effectId: job.id,
      kind,
      attempt,
      ...(context === undefined ? {} : { context }),
      node: settings.node,
      startedAtMs: this.startedAtMs,
      outcome,
    } satisfies EffectResult;
    const delivery = await this.#delivery(replyAs, payload);
    if (await this.#settledHere(delivery)) return true;
    if ((await this.#of.committed) === false) return false;
    return persist(() => settings.store.settleEffect(job.partition, job.id, attempt, delivery), settings, giveUp);
  }

  /**
   * Hands the result with its held progress to the partition. False: it must be sent as a message, behind its progress,
   * so that both arrive in order.
   */
  async #settledHere(delivery: Delivery): Promise<boolean> {
    const before = await Promise.all(this.#held);
    const isInline = before.length === 0 || ![delivery, ...before].some(({ body }) => isSpilled(body));
    if (this.#hasProgressed || !isInline) {
      await this.#last;
      await this.#heldSent;
      return false;
    }
    this.#held.splice(0, before.length);
    const { settings, job, attempt } = this.#of;
    const settle = { id: job.id, attempt, delivery };
    const result = before.length === 0 ? settle : { ...settle, before };
    if (await settings.settleHere(job.partition, result)) return true;
    if ((await this.#of.committed) === false) return false;
    for (const one of before) if (!(await this.#put(one))) return false;
    return false;
  }

  /** Encodes a message once, so that a repeated call carries the same message id. */
  async #delivery(type: string, payload: Json): Promise<Delivery> {
    const { settings, envelope, giveUp } = this.#of;
    const { random, encode } = settings;
    const { to, cause, trace, traceContext } = envelope;
    const id = random.uuid();
    const message = { id, to, from: null, cause, trace, traceContext, origin: 'effect', type, payload } as const;
    const encoded = encode(message);
    if (typeof encoded === 'string') return { id, to, body: encoded };
    let first: Promise<string> | null = encoded;
    const stored = (): Promise<string> => {
      const body = first ?? Promise.resolve(encode(message));
      first = null;
      return body;
    };
    return { id, to, body: await persist(stored, settings, giveUp) };
  }
}

const FIRST_DELAY_MS = 50;

const MAX_DELAY_MS = 2_000;

/**
 * Repeats a store call until it is answered: a call that rejects with `unavailable` may have happened, and repeating is
 * harmless (ActorStore). Throws other errors at once, and the last `unavailable` when `giveUp` aborts.
 */
export async function persist<T>(
  call: () => Promise<T>,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  giveUp: AbortSignal,
): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await call();
    } catch (error) {
      if (giveUp.aborted || !(error instanceof SvcError) || error.code !== 'unavailable') throw error;
      await sleep(clock, jittered(backoffMs(failures, FIRST_DELAY_MS, MAX_DELAY_MS), random), giveUp);
    }
  }
}

/** How a wait of a handler has ended. */
export type Waited = { readonly ok: true; readonly value: boolean } | { readonly ok: false; readonly error: unknown };

/** How one run of a handler has ended: with a value, with a wait, or not begun, since a store was unavailable. */
export type Ran =
  | { readonly kind: 'ended'; readonly value: Json }
  | { readonly kind: 'waits'; readonly until: Promise<Waited> }
  | { readonly kind: 'again' };

/** Begins a wait. The outcome is a value, so that a failed wait does not reject. */
export function settled(wait: HandlerWait, signal: AbortSignal): Promise<Waited> {
  const failed = (error: unknown): Waited => ({ ok: false, error });
  try {
    return wait(signal).then((value) => ({ ok: true, value }), failed);
  } catch (thrown) {
    return Promise.resolve(failed(thrown));
  }
}

/** Most attempts that any policy may set. It also ends an effect that brings its node down each time. */
export const MOST_ATTEMPTS = 100;

/** Longest delay before another attempt, also when the other side asks for more in Retry-After. */
const LONGEST_WAIT_MS = 60 * 60_000;

/**
 * Delay before the next attempt of a failed effect, or null when it must not be tried again (E3). Attempts that ended
 * with a crash or a restart count too. Full jitter spreads a thousand refused callers over time; a delay that the other
 * side asked for is kept. A `once` effect whose time ran out may have acted, so it is not repeated.
 */
export function retryDelayMs(
  error: SvcError,
  attempt: number,
  mode: EffectMode,
  policy: RetryPolicy | undefined,
  random: Random,
): number | null {
  if (policy === undefined || error.row.kind !== 'retry') return null;
  if (attempt >= Math.min(policy.maxAttempts, MOST_ATTEMPTS)) return null;
  if (mode === 'once' && error.code === 'deadline_exceeded') return null;
  if (error.retryAfterMs !== undefined) return Math.min(Math.max(0, error.retryAfterMs), LONGEST_WAIT_MS);
  const ceiling = backoffMs(attempt - 1, policy.initialDelayMs, Math.min(policy.maxDelayMs, LONGEST_WAIT_MS));
  return Math.round(random.fraction() * ceiling);
}

import type { EffectMode } from '../actor-store.ts';
import type { Clock } from '../clock.ts';
import type { RetryPolicy } from '../define-actor.ts';
import type { EffectProgress, EffectResult, HandlerWait } from '../effect.ts';
import type { EffectJob } from '../effect-queue.ts';
import { ERRORS, SvcError, toSvcError } from '../errors.ts';
import type { Json } from '../json.ts';
import { backoffMs, jittered, sleep } from '../kit/waits.ts';
import type { Delivery } from '../message.ts';
import type { Random } from '../random.ts';
import type { EffectEnvelope } from './effect-envelope.ts';
import type { RunnerSettings } from './effect-runner-claim.ts';

type Outcome = EffectResult['outcome'];

/** The part of a failure that an actor may read. The cause of a bug in this program stays in the log. */
export function failure(error: SvcError): Outcome {
  const message = error.row.kind === 'bug' ? ERRORS[error.code].message : error.message;
  return { kind: 'failed', code: error.code, message };
}

/** The failure of a request whose input does not fit its handler. */
export function invalidInput(
  kind: string,
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): SvcError {
  const details = issues.slice(0, 20).map(({ path, message }) => ({ path: path.map(String).join('.'), message }));
  const text = details.map(({ path, message }) => `${path}: ${message}`).join('; ');
  return new SvcError('invalid_argument', `input of ${kind} does not fit: ${text}`, { details });
}

/** Sends progress and result of one attempt as messages to the actor that requested the effect. */
export class EffectReport {
  readonly #settings: RunnerSettings;
  readonly #job: EffectJob;
  readonly #attempt: number;
  readonly #envelope: EffectEnvelope;
  readonly #giveUp: AbortSignal;
  readonly #committed: Promise<boolean> | undefined;
  /** When the attempt began, Unix ms. */
  readonly startedAtMs: number;
  #hasProgressed = false;
  #last: Promise<boolean> = Promise.resolve(true);

  constructor(
    settings: RunnerSettings,
    job: EffectJob,
    attempt: number,
    envelope: EffectEnvelope,
    giveUp: AbortSignal,
    committed?: Promise<boolean>,
  ) {
    this.#settings = settings;
    this.#job = job;
    this.#attempt = attempt;
    this.#envelope = envelope;
    this.#giveUp = giveUp;
    this.#committed = committed;
    this.startedAtMs = settings.clock.now();
  }

  /** Sends an intermediate result; they arrive in the order of the calls. False: the attempt is no longer wanted. */
  progress(value: Json): Promise<boolean> {
    const { progressAs } = this.#envelope.request;
    if (progressAs === undefined) return Promise.resolve(true);
    const next = this.#last.then((wanted) => (wanted ? this.#sendProgress(progressAs, value) : false));
    this.#last = next.catch(() => true);
    return next;
  }

  /** Closes the effect after all its progress. False: it was cancelled or taken over, and the result is dropped. */
  async settle(outcome: Outcome): Promise<boolean> {
    await this.#last;
    try {
      return await this.#sendResult(outcome);
    } catch (error) {
      const cause = toSvcError(error);
      if (this.#giveUp.aborted || cause.code === 'unavailable') throw error;
      // The result cannot be sent (too large, not JSON). The actor gets that failure instead of waiting for ever.
      this.#settings.onFault(error, { effectId: this.#job.id, doing: 'sending a result' });
      return this.#sendResult(failure(cause));
    }
  }

  async #sendProgress(type: string, value: Json): Promise<boolean> {
    if ((await this.#committed) === false) return false;
    this.#hasProgressed = true;
    const { context } = this.#envelope.request;
    const payload = {
      effectId: this.#job.id,
      attempt: this.#attempt,
      ...(context === undefined ? {} : { context }),
      value,
    } satisfies EffectProgress;
    const delivery = await this.#delivery(type, payload);
    const { store } = this.#settings;
    const send = () => store.progressEffect(this.#job.partition, this.#job.id, this.#attempt, delivery);
    return persist(send, this.#settings, this.#giveUp);
  }

  async #sendResult(outcome: Outcome): Promise<boolean> {
    const { kind, replyAs, context } = this.#envelope.request;
    const payload = {
      effectId: this.#job.id,
      kind,
      attempt: this.#attempt,
      ...(context === undefined ? {} : { context }),
      node: this.#settings.node,
      startedAtMs: this.startedAtMs,
      outcome,
    } satisfies EffectResult;
    const delivery = await this.#delivery(replyAs, payload);
    const { store, settleHere } = this.#settings;
    const { partition, id } = this.#job;
    // A result follows its progress through the mailbox, so that both arrive in order.
    const isFirst = !this.#hasProgressed;
    if (isFirst && (await settleHere(partition, { id, attempt: this.#attempt, delivery }))) return true;
    if ((await this.#committed) === false) return false;
    const send = () => store.settleEffect(partition, id, this.#attempt, delivery);
    return persist(send, this.#settings, this.#giveUp);
  }

  /** Encodes a message once, so that a repeated call carries the same message id. */
  async #delivery(type: string, payload: Json): Promise<Delivery> {
    const { random, encode } = this.#settings;
    const { to, cause, trace, traceContext } = this.#envelope;
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
    return { id, to, body: await persist(stored, this.#settings, this.#giveUp) };
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

/** Begins a wait; how it ends is a value, so that a wait that fails is not a failure of who waits. */
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

import type { Address } from '../address.ts';
import { asEffectOf } from '../calls/calls-of-effect.ts';
import { type EffectContext, type EffectHandler, HandlerWaits } from '../effect.ts';
import type { JobOutcome } from '../effect-queue.ts';
import { type ErrorCode, SvcError, toSvcError, unreachableStore } from '../errors.ts';
import type { Json } from '../json.ts';
import { hot } from '../kit/hot-schema.ts';
import type { EffectEnd } from '../meter.ts';
import { askedAgo, exportSpan } from './effect-envelope.ts';
import { ClaimRenewal, type Renewing, type RunnerShared, renewOnceCommitted } from './effect-runner-claim.ts';
import {
  type Attempt,
  EffectReport,
  failure,
  invalidInput,
  MOST_ATTEMPTS,
  persist,
  type Ran,
  retryDelayMs,
  settled,
  type Waited,
} from './effect-runner-report.ts';

/**
 * Why a running attempt is aborted. `unwanted`: the store reported a cancel. `gone`: the claim was lost because the
 * effect was cancelled, settled or taken over. `cut`: the process behaves as if it had died, and reports nothing.
 */
type AbortCause = 'unwanted' | 'gone' | 'cut' | 'timeout' | 'shutdown';

const REASONS = {
  unwanted: 'cancelled',
  gone: 'lease_lost',
  cut: 'lease_lost',
  timeout: 'deadline_exceeded',
  shutdown: 'lease_lost',
} as const satisfies Record<AbortCause, ErrorCode>;

const DONE: JobOutcome = { kind: 'done' };

const ENDS = { done: 'done', failed: 'failed', inDoubt: 'in_doubt' } as const;

/**
 * The attempt is no longer the current one. The job comes back at once, and the record decides what follows: after the store
 * returned to an older state the effect may be open, while the queue, which still had this job, refused to queue it again.
 */
const CLAIMED_ANEW: JobOutcome = { kind: 'later', delayMs: 0 };

type Ending = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly error: SvcError };

/** One attempt of one effect: the run of its handler between claim and result. */
export class EffectAttempt {
  readonly #of: Attempt;
  readonly #shared: RunnerShared;
  readonly #report: EffectReport;
  /** Created on first use, since most attempts need none. */
  #aborting: AbortController | null = null;
  readonly #begunAt: number;
  #cause: AbortCause | null = null;
  /** Ends the run without its handler, which ignores its signal for too long. */
  #endEarly: (ending: Ending) => void = () => {};
  /** The slot that the attempt occupies: the queue's until it has parked. */
  #slot: 'queue' | 'parking' | 'none' = 'queue';
  /** Called when the attempt frees its slot of the queue, which it does not take again. */
  onParked: () => void = () => {};
  /** The error of an unavailable store because of which the work has not begun; null when there is none. */
  #keptFromBeginning: SvcError | null = null;

  constructor(of: Attempt, shared: RunnerShared) {
    this.#of = of;
    this.#shared = shared;
    this.#begunAt = of.settings.clock.monotonic();
    this.#report = new EffectReport(of);
  }

  get address(): Address {
    return this.#of.job.address;
  }

  /** Whether the attempt may be stopped and given to another runner: no work that must run once would run twice. */
  get givesBack(): boolean {
    return this.#of.envelope.request.mode === 'repeatable' || this.#keptFromBeginning !== null;
  }

  /**
   * Whether an error of kind `retry` leads to another run. It means that nothing has acted yet, also in mode `once`
   * (`EffectHandler`).
   */
  get #runsAgain(): boolean {
    const { mode, retry } = this.#of.envelope.request;
    return mode === 'repeatable' || retry !== undefined;
  }

  get hasLeftQueue(): boolean {
    return this.#slot !== 'queue';
  }

  /**
   * Aborts the work. The first cause counts; its code tells the handler whether the work is still wanted
   * (`EffectContext.signal`).
   */
  abort(cause: AbortCause): void {
    if (this.#cause !== null) return;
    this.#cause = cause;
    this.#aborting?.abort(new SvcError(REASONS[cause]));
    this.#of.settings.clock.after(this.#of.settings.abortGraceMs, () => this.#giveUpHandler());
  }

  get #signal(): AbortSignal {
    if (this.#aborting === null) {
      this.#aborting = new AbortController();
      if (this.#cause !== null) this.#aborting.abort(new SvcError(REASONS[this.#cause]));
    }
    return this.#aborting.signal;
  }

  #giveUpHandler(): void {
    if (this.#ended) return;
    const error = new SvcError('cancelled', 'the work did not end after it was stopped');
    this.#of.settings.onFault(error, { effectId: this.#of.job.id, doing: 'stopping' });
    this.#endEarly({ ok: false, error });
  }

  async run(handler: EffectHandler | undefined): Promise<JobOutcome> {
    const { settings, job, attempt, envelope, committed } = this.#of;
    const { timeoutMs, mode } = envelope.request;
    const lasting = handler?.lasting === true && mode === 'once';
    const renew = () => new ClaimRenewal(settings, job, attempt, lasting, () => this.abort('gone'));
    const renewing = committed === undefined ? renew() : renewOnceCommitted(committed, renew);
    this.#stopUncommitted();
    const late = (): void => this.abort('timeout');
    const cancelTimeout = timeoutMs === undefined ? () => {} : settings.clock.after(timeoutMs, late);
    try {
      const ending = await this.#handle(handler, renewing);
      cancelTimeout();
      return await this.#close(ending);
    } finally {
      cancelTimeout();
      renewing.stop();
      this.#leaveSlot();
    }
  }

  /** Aborts the attempt when the commit that opens its effect does not happen. */
  #stopUncommitted(): void {
    this.#of.committed
      ?.then((happened) => (happened ? undefined : this.abort('gone')))
      .catch((thrown: unknown) => this.#of.settings.onFault(thrown, { effectId: this.#of.job.id, doing: 'stopping' }));
  }

  async #handle(handler: EffectHandler | undefined, renewing: Renewing): Promise<Ending> {
    const { kind } = this.#of.envelope.request;
    if (this.#of.attempt > MOST_ATTEMPTS) {
      return {
        ok: false,
        error: new SvcError('dead_lettered', `${MOST_ATTEMPTS} attempts of ${kind} ended with their node`),
      };
    }
    if (handler === undefined) {
      return { ok: false, error: new SvcError('unimplemented', `this node has no effect named ${kind}`) };
    }
    return new Promise((resolve) => {
      this.#endEarly = resolve;
      void this.#guard(() => this.#untilEnded(handler, renewing)).then(resolve);
    });
  }

  /**
   * Runs the handler. Runs it again after its wait, and each time that it could not begin because a store of this node was
   * unavailable.
   */
  async #untilEnded(handler: EffectHandler, renewing: Renewing): Promise<Json> {
    let waited: Waited | undefined;
    for (let tries = 0; ; tries += 1) {
      const run = await this.#ran(handler, renewing, tries, waited);
      if (run.kind === 'ended') return run.value;
      if (run.kind === 'again') continue;
      // Thousands of effects wait here, so they keep nothing but this loop in memory.
      waited = await this.#park(run.until, renewing);
      this.#signal.throwIfAborted();
    }
  }

  async #ran(handler: EffectHandler, renewing: Renewing, tries: number, waited: Waited | undefined): Promise<Ran> {
    try {
      return { kind: 'ended', value: await this.#work(handler, renewing, waited) };
    } catch (thrown) {
      if (thrown instanceof HandlerWaits) return { kind: 'waits', until: settled(thrown.wait, this.#signal) };
      const away = { tries, renewing, hasBegun: false };
      if (this.#runsAgain && (await this.#isBack(toSvcError(thrown), away))) return { kind: 'again' };
      throw thrown;
    }
  }

  async #work(handler: EffectHandler, renewing: Renewing, waited: Waited | undefined): Promise<Json> {
    const { settings, job, attempt, envelope } = this.#of;
    const { kind, input } = envelope.request;
    const parsed = hot(handler.input).safeParse(input);
    if (!parsed.success) throw invalidInput(kind, parsed.error.issues);
    const calling = { ...envelope, effectId: job.id, attempt, sink: settings.sink };
    return asEffectOf(calling, () => handler.run(parsed.data, this.#contextFor(renewing, waited)));
  }

  #contextFor(renewing: Renewing, waited: Waited | undefined): EffectContext {
    const { settings, job, attempt, envelope } = this.#of;
    const { timeoutMs } = envelope.request;
    const { id: effectId, fairnessKey } = job;
    const signal = (): AbortSignal => this.#signal;
    return {
      effectId,
      ...(fairnessKey === undefined ? {} : { fairnessKey }),
      attempt,
      tenant: envelope.tenant,
      address: envelope.to,
      trace: envelope.trace,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(attempt === 1 ? {} : askedAgo(envelope, settings.clock.now())),
      get signal() {
        return signal();
      },
      progress: async (value) => this.#cause === null && (await this.#report.progress(value)),
      parked: (waiting) => this.#park(waiting, renewing),
      retryWhileUnavailable: (call) => this.#retryWhileUnavailable(call, renewing),
      ...(waited === undefined ? {} : { resumed: { startedAtMs: this.#report.startedAtMs } }),
      waitedFor(wait) {
        if (waited === undefined) throw new HandlerWaits(wait);
        if (waited.ok) return waited.value;
        throw waited.error;
      },
    };
  }

  async #retryWhileUnavailable<T>(call: () => Promise<T>, renewing: Renewing): Promise<T> {
    for (let tries = 0; ; tries += 1) {
      try {
        return await call();
      } catch (thrown) {
        const error = toSvcError(thrown);
        if (await this.#isBack(error, { tries, renewing, hasBegun: !error.notBegun })) continue;
        this.#signal.throwIfAborted();
        throw thrown;
      }
    }
  }

  /** Waits, parked, for the store that was unavailable. False: no store was, or the attempt is stopped. */
  async #isBack(
    error: SvcError,
    { tries, renewing, hasBegun }: { readonly tries: number; readonly renewing: Renewing; readonly hasBegun: boolean },
  ): Promise<boolean> {
    const store = unreachableStore(error);
    if (store === null || this.#cause !== null) return false;
    const signal = this.#signal;
    if (!hasBegun) {
      // A call of mode `once` that ran out of time may have acted: nothing is known.
      if (this.#of.envelope.request.mode === 'once' && error.code === 'deadline_exceeded') return false;
      this.#keptFromBeginning = error;
    }
    await this.#park(this.#shared.outages.wait(store, tries, signal), renewing);
    if (signal.aborted) return false;
    this.#keptFromBeginning = null;
    return true;
  }

  async #park<T>(waiting: Promise<T>, renewing: Renewing): Promise<T> {
    const { counts, parking } = this.#shared;
    if (this.#slot === 'none' || !parking.enter()) return waiting;
    this.#leaveSlot();
    this.#slot = 'none';
    this.onParked();
    counts.running -= 1;
    counts.parked += 1;
    renewing.slowDown();
    try {
      return await waiting;
    } finally {
      if (await parking.goOn(this.#signal)) this.#slot = 'parking';
      counts.parked -= 1;
      counts.running += 1;
      renewing.speedUp();
      // The attempt ended meanwhile, so its slot is free.
      if (this.#ended) this.#leaveSlot();
    }
  }

  #leaveSlot(): void {
    if (this.#slot !== 'parking') return;
    this.#slot = 'none';
    this.#shared.parking.leave();
  }

  async #guard(work: () => Promise<Json>): Promise<Ending> {
    try {
      // A handler that returns nothing has the result null.
      return { ok: true, value: (await work()) ?? null };
    } catch (thrown) {
      const error = toSvcError(thrown);
      const { settings, job, envelope } = this.#of;
      const doing = `running ${envelope.request.kind}`;
      if (error.row.kind === 'bug') settings.onFault(thrown, { effectId: job.id, doing });
      return { ok: false, error };
    }
  }

  #ended = false;
  /** The error with which the work ended; null: it succeeded. */
  #error: SvcError | null = null;

  async #close(ending: Ending): Promise<JobOutcome> {
    this.#ended = true;
    this.#error = ending.ok ? null : ending.error;
    if (this.#cause === 'unwanted') return this.#drop(DONE);
    if (this.#cause === 'gone') return this.#drop(CLAIMED_ANEW);
    // The claim decides who may continue: the next runner of the job checks it.
    if (this.#cause === 'cut') return this.#drop({ kind: 'later', delayMs: this.#of.settings.claimTtlMs });
    if (ending.ok) return this.#settle({ kind: 'done', value: ending.value }, 'done');
    if (this.#cause === 'shutdown') return this.#interrupted();
    // An attempt that ran out of time before it began did no work. It fails with the error of the missing store, so
    // that another attempt may run.
    const late = this.#keptFromBeginning ?? new SvcError('deadline_exceeded');
    const error = this.#cause === 'timeout' ? late : ending.error;
    return this.#failed(error);
  }

  #interrupted(): Promise<JobOutcome> {
    if (!this.givesBack) return this.#settle({ kind: 'in_doubt' }, 'inDoubt');
    // The node ended the attempt; the work did not fail.
    this.#error = null;
    return this.#reopen(0);
  }

  #failed(error: SvcError): Promise<JobOutcome> {
    const { mode, retry } = this.#of.envelope.request;
    const delayMs = retryDelayMs(error, this.#of.attempt, mode, retry, this.#of.settings.random);
    return delayMs === null ? this.#settle(failure(error), 'failed') : this.#reopen(delayMs, error);
  }

  async #settle(
    outcome: Parameters<EffectReport['settle']>[0],
    count: 'done' | 'failed' | 'inDoubt',
  ): Promise<JobOutcome> {
    const kept = await this.#report.settle(outcome);
    this.#shared.counts[kept ? count : 'dropped'] += 1;
    this.#count(kept ? ENDS[count] : 'dropped');
    return kept ? DONE : CLAIMED_ANEW;
  }

  async #reopen(delayMs: number, error?: SvcError): Promise<JobOutcome> {
    const { settings, job, attempt, giveUp } = this.#of;
    const why = error === undefined ? undefined : { code: error.code, message: error.message };
    if ((await this.#of.committed) === false) return this.#drop(DONE);
    await this.#report.sent();
    const give = () => settings.store.reopenEffect(job.partition, job.id, attempt, delayMs, undefined, why);
    await persist(give, settings, giveUp);
    // A repeated call returns false although the first one gave the attempt back: the job comes again and the claim
    // decides.
    this.#shared.counts.retried += 1;
    this.#count('retried', settings.clock.now() + delayMs);
    return { kind: 'later', delayMs };
  }

  #drop(outcome: JobOutcome): JobOutcome {
    this.#shared.counts.dropped += 1;
    this.#count('dropped');
    return outcome;
  }

  #count(end: EffectEnd, retryAtMs: number | null = null): void {
    const { settings, job, attempt, envelope } = this.#of;
    const { meter, sink, clock } = settings;
    const { to: address, trace, request } = envelope;
    const [ms, error] = [clock.monotonic() - this.#begunAt, this.#error];
    meter.effectEnded(request.kind, end, ms, { address, trace, attempt, effectId: job.id, error, retryAtMs });
    const about = { id: job.id, attempt, outcome: end, error: error?.code, startedAt: this.#report.startedAtMs };
    exportSpan(sink, envelope, { ...about, endedAt: clock.now() });
  }
}

import type { ClaimOutcome } from '../actor-store.ts';
import type { Address } from '../address.ts';
import type { EffectHandler } from '../effect.ts';
import type { EffectJob, JobOutcome, StartedEffect } from '../effect-queue.ts';
import { type OwnStore, SvcError, toSvcError, unreachableStore } from '../errors.ts';
import { decodeEffect } from './effect-envelope.ts';
import { EffectAttempt } from './effect-runner-attempt.ts';
import {
  ClaimRenewal,
  type EffectRunnerOptions,
  type Renewing,
  type RunnerCounts,
  type RunnerSettings,
  runnerSettings,
} from './effect-runner-claim.ts';
import { EffectReport, persist } from './effect-runner-report.ts';
import { EffectParking, StoreOutages } from './store-outages.ts';

const DONE: JobOutcome = { kind: 'done' };
const BUSY_FLOOR_MS = 50;
/** Time that an aborted attempt needs to end, milliseconds. */
const LATE_MS = 500;
/** Age of a claim made by a commit, milliseconds, beyond which the store is asked whether it still holds. */
const FRESH_MS = 500;

/**
 * Runs effects on this node (E1–E3): takes jobs, claims the effect of each, runs its handler, and sends progress and
 * result as messages to the actor that requested it. Jobs are delivered at least once; the claim ensures one runner at
 * a time, and the store drops reports of an outdated attempt.
 */
export class EffectRunner {
  readonly #settings: RunnerSettings;
  readonly #handlers = new Map<string, EffectHandler>();
  readonly #attempts = new Map<string, EffectAttempt>();
  readonly #counts: RunnerCounts = {
    running: 0,
    parked: 0,
    started: 0,
    done: 0,
    failed: 0,
    retried: 0,
    inDoubt: 0,
    dropped: 0,
  };
  readonly #parking: EffectParking;
  readonly #outages: StoreOutages;
  /** Attempts that have not ended, those without a slot of the queue included. */
  readonly #unsettled = new Set<Promise<JobOutcome>>();
  readonly #giveUp = new AbortController();
  /** The queues from which jobs are taken, each with the function that stops taking. */
  readonly #taking = new Map<string, Promise<() => Promise<void>>>();
  #unsubscribe: () => void = () => {};
  #stopping: Promise<void> | null = null;

  /** Throws when two handlers have the same kind. */
  constructor(options: EffectRunnerOptions) {
    this.#settings = runnerSettings(options);
    const { concurrency: slots, mostParked: most, onParked } = this.#settings;
    this.#parking = new EffectParking({ most, slots, onParked });
    this.#outages = new StoreOutages(this.#settings);
    for (const handler of options.handlers) {
      if (this.#handlers.has(handler.kind)) {
        throw new SvcError('invalid_config', `two effects are named ${handler.kind}`);
      }
      this.#handlers.set(handler.kind, handler);
    }
  }

  /** Name of this runner in claims: `node/incarnation`. */
  get name(): string {
    return `${this.#settings.node}/${this.#settings.incarnation}`;
  }

  get claimTtlMs(): number {
    return this.#settings.claimTtlMs;
  }

  get counts(): Readonly<RunnerCounts> {
    return { ...this.#counts };
  }

  async start(): Promise<void> {
    const { store, queues } = this.#settings;
    this.#unsubscribe = store.onEffectCancelled((id) => this.#attempts.get(id)?.abort('unwanted'));
    await this.serve(queues);
  }

  /** Takes jobs from exactly these queues from now on. Running effects of other queues continue to their end. */
  async serve(queues: readonly string[]): Promise<void> {
    const changes: Promise<unknown>[] = [];
    for (const [name, taking] of this.#taking) {
      if (queues.includes(name)) continue;
      this.#taking.delete(name);
      // The caller that started taking gets the failure; there is nothing to stop then.
      const begun = taking.catch(() => null);
      changes.push(begun.then((stop) => stop?.()));
    }
    for (const name of queues)
      if (!this.#taking.has(name) && this.#stopping === null) changes.push(this.#takeFrom(name));
    await Promise.all(changes);
  }

  #takeFrom(name: string): Promise<unknown> {
    const { queue, concurrency } = this.#settings;
    const taking = queue.work([name], concurrency, (job, started) => this.#take(job, started));
    this.#taking.set(name, taking);
    // After a failure the next caller can start again.
    return taking.catch((thrown: unknown) => {
      if (this.#taking.get(name) === taking) this.#taking.delete(name);
      throw thrown;
    });
  }

  /**
   * Takes no more jobs and resolves when none runs. Repeatable effects are stopped and given back, so that another node
   * gets them at once; `once` effects get `stopGraceMs` to finish and are then recorded as in doubt.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const { clock, stopGraceMs, abortGraceMs } = this.#settings;
    const drained = this.#drained();
    for (const attempt of this.#attempts.values()) if (attempt.givesBack) attempt.abort('shutdown');
    const cancelGrace = clock.after(stopGraceMs, () => {
      for (const attempt of this.#attempts.values()) attempt.abort('shutdown');
    });
    // Without the store, waiting longer does not help: the claims expire and other runners read the record.
    const cancelWait = clock.after(stopGraceMs + 2 * abortGraceMs, () => this.#giveUp.abort());
    // A queue that never answers must not keep a node from stopping.
    const late = Promise.withResolvers<void>();
    const cancelLate = clock.after(stopGraceMs + 2 * abortGraceMs + LATE_MS, late.resolve);
    try {
      await Promise.race([drained, late.promise]);
    } finally {
      cancelGrace();
      cancelWait();
      cancelLate();
      this.#giveUp.abort();
      this.#unsubscribe();
    }
  }

  async #drained(): Promise<void> {
    await this.serve([]);
    while (this.#unsettled.size > 0) await Promise.all(this.#unsettled);
  }

  /**
   * Aborts the effects of an actor as if this process had died: nothing is reported and the claims expire. Returns how
   * many were running.
   */
  cut(address: Address): number {
    const running = [...this.#attempts.values()].filter((attempt) => attempt.address === address);
    for (const attempt of running) attempt.abort('cut');
    return running.length;
  }

  async #take(job: EffectJob, started?: StartedEffect): Promise<JobOutcome> {
    if (started !== undefined) return this.#started(job, started);
    if (this.#stopping !== null) return { kind: 'later', delayMs: 0 };
    const claim = await this.#claim(job);
    switch (claim.kind) {
      case 'gone':
        return DONE;
      case 'busy': {
        // The other runner may be found to have ended before its claim expires.
        const mostMs = claim.by === '' ? claim.retryAfterMs : this.#settings.claimTtlMs;
        return { kind: 'later', delayMs: Math.max(BUSY_FLOOR_MS, Math.min(claim.retryAfterMs, mostMs)) };
      }
      default:
        return this.#claimed(job, claim);
    }
  }

  /**
   * Runs an effect whose commit was its claim. A process that was blocked in between may have lost that claim, so an
   * old claim is checked first: nothing runs twice.
   */
  async #started(job: EffectJob, started: StartedEffect): Promise<JobOutcome> {
    const { clock, store, claimTtlMs } = this.#settings;
    const { attempt, body, claimedAt, committed } = started;
    if (committed === undefined && clock.monotonic() - claimedAt > FRESH_MS) {
      const keep = () => store.keepEffect(job.partition, job.id, attempt, claimTtlMs);
      const kept = await persist(keep, this.#settings, this.#giveUp.signal).catch(() => false);
      if (!kept) return { kind: 'later', delayMs: claimTtlMs };
    }
    return this.#claimed(job, { kind: 'claimed', attempt, body }, committed);
  }

  /** Claims an effect, with one id for all tries: if the answer to a claim was lost, the next try gets that claim. */
  async #claim(job: EffectJob): Promise<ClaimOutcome> {
    const { queue, claimTtlMs, random } = this.#settings;
    const runner = this.name;
    const claim = random.uuid();
    const ask = (over?: string) => persist(() => queue.claim(job, runner, claimTtlMs, over, claim), ...this.#patience);
    try {
      const outcome = await ask();
      if (outcome.kind !== 'busy' || outcome.by === '' || !(await this.#isOver(outcome.by, outcome.once)))
        return outcome;
      return await ask(outcome.by);
    } catch (error) {
      if (toSvcError(error).code !== 'unavailable') {
        this.#settings.onFault(error, { effectId: job.id, doing: 'claiming' });
      }
      return { kind: 'busy', by: '', retryAfterMs: 1_000, once: false };
    }
  }

  get #patience() {
    return [this.#settings, this.#giveUp.signal] as const;
  }

  /**
   * Whether a runner's claims may be taken over. Taking over a `once` effect loses it, so silence alone is not enough.
   * Effects that this runner claimed run here, even when another node considers this one dead.
   */
  async #isOver(runner: string, once: boolean): Promise<boolean> {
    const { isGone, hasEnded } = this.#settings;
    if (runner === this.name) return false;
    return once ? hasEnded(runner) : isGone(runner);
  }

  async #claimed(
    job: EffectJob,
    claim: Extract<ClaimOutcome, { body: string }>,
    committed?: Promise<boolean>,
  ): Promise<JobOutcome> {
    try {
      const body = await this.#unpacked(job, claim);
      if (body === null) return { kind: 'later', delayMs: this.#settings.claimTtlMs };
      const envelope = decodeEffect(body);
      const { attempt } = claim;
      const of = { settings: this.#settings, job, attempt, envelope, giveUp: this.#giveUp.signal, committed };
      if (claim.kind === 'in_doubt') {
        if (await new EffectReport(of).settle({ kind: 'in_doubt' })) this.#counts.inDoubt += 1;
        return DONE;
      }
      // The runner was stopped while the claim was under way. Nothing has run, so the attempt is given back in either
      // mode.
      if (this.#stopping !== null) return (await committed) === false ? DONE : await this.#giveBack(job, attempt);
      const shared = { counts: this.#counts, parking: this.#parking, outages: this.#outages };
      return await this.#untilParked(job, new EffectAttempt(of, shared), this.#handlers.get(envelope.request.kind));
    } catch (error) {
      return this.#unreported(job, error);
    }
  }

  /** Fetches the request. Null: the claim was lost meanwhile. */
  async #unpacked(job: EffectJob, claim: Extract<ClaimOutcome, { body: string }>): Promise<string | null> {
    const { unpack } = this.#settings;
    try {
      return await unpack(claim.body);
    } catch (thrown) {
      const store = unreachableStore(thrown);
      if (store === null) throw thrown;
      return this.#unpackedLater(job, claim, store);
    }
  }

  /**
   * Renews the claim while the store that holds the request is unavailable: a `once` effect whose claim expired would be
   * in doubt although nothing of it has run.
   */
  async #unpackedLater(
    job: EffectJob,
    claim: Extract<ClaimOutcome, { body: string }>,
    away: OwnStore,
  ): Promise<string | null> {
    const { unpack } = this.#settings;
    const over = new AbortController();
    const lost = (): void => over.abort();
    let renewing: Renewing | null = null;
    this.#giveUp.signal.addEventListener('abort', lost, { once: true });
    try {
      let store = away;
      if (this.#giveUp.signal.aborted) lost();
      if (claim.kind === 'claimed') renewing = new ClaimRenewal(this.#settings, job, claim.attempt, false, lost);
      for (let tries = 0; ; tries += 1) {
        await this.#outages.wait(store, tries, over.signal);
        if (over.signal.aborted) return null;
        try {
          return await unpack(claim.body);
        } catch (thrown) {
          const again = unreachableStore(thrown);
          if (again === null) throw thrown;
          store = again;
        }
      }
    } finally {
      renewing?.stop();
      this.#giveUp.signal.removeEventListener('abort', lost);
    }
  }

  #unreported(job: EffectJob, error: unknown): JobOutcome {
    this.#settings.onFault(error, { effectId: job.id, doing: 'reporting' });
    return { kind: 'later', delayMs: this.#settings.claimTtlMs };
  }

  /**
   * Runs an attempt until it ends or parks. A parked attempt leaves the queue: its record says everything, and the
   * sweep finds it.
   */
  #untilParked(job: EffectJob, attempt: EffectAttempt, handler: EffectHandler | undefined): Promise<JobOutcome> {
    return new Promise((resolve) => {
      attempt.onParked = () => resolve(DONE);
      const ended = this.#run(job, attempt, handler).catch((error: unknown) => this.#unreported(job, error));
      this.#unsettled.add(ended);
      void ended.then((outcome) => {
        this.#unsettled.delete(ended);
        resolve(outcome);
      });
    });
  }

  async #run(job: EffectJob, attempt: EffectAttempt, handler: EffectHandler | undefined): Promise<JobOutcome> {
    this.#attempts.set(job.id, attempt);
    this.#counts.started += 1;
    this.#counts.running += 1;
    try {
      const outcome = await attempt.run(handler);
      if (outcome.kind === 'later' && attempt.hasLeftQueue) await this.#queueAgain(job, outcome.delayMs);
      return outcome;
    } finally {
      this.#counts.running -= 1;
      if (this.#attempts.get(job.id) === attempt) this.#attempts.delete(job.id);
    }
  }

  /**
   * Queues the job of a parked attempt again, because the queue no longer has it. When this node stops or the queue is
   * unavailable, the sweep finds the effect instead, up to ten seconds later.
   */
  async #queueAgain(job: EffectJob, delayMs: number): Promise<void> {
    if (this.#stopping !== null) return;
    try {
      await this.#settings.queue.enqueue(job, delayMs);
    } catch (error) {
      if (toSvcError(error).code === 'unavailable') return;
      this.#settings.onFault(error, { effectId: job.id, doing: 'queueing it again' });
    }
  }

  async #giveBack(job: EffectJob, attempt: number): Promise<JobOutcome> {
    const { store } = this.#settings;
    await persist(() => store.reopenEffect(job.partition, job.id, attempt, 0), this.#settings, this.#giveUp.signal);
    return { kind: 'later', delayMs: 0 };
  }
}

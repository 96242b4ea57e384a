import type { ClaimOutcome } from '../actor-store.ts';
import type { Address } from '../address.ts';
import type { EffectHandler } from '../effect.ts';
import type { EffectJob, JobOutcome, StartedEffect } from '../effect-queue.ts';
import { SvcError, storeAway, toSvcError } from '../errors.ts';
import { decodeEffect } from './effect-envelope.ts';
import { EffectAttempt } from './effect-runner-attempt.ts';
import {
  type EffectRunnerOptions,
  type Renewing,
  type RunnerCounts,
  type RunnerSettings,
  renewClaim,
  runnerSettings,
} from './effect-runner-claim.ts';
import { EffectReport, persist } from './effect-runner-report.ts';
import { EffectParking, StoreOutages } from './store-outages.ts';

const DONE: JobOutcome = { kind: 'done' };
const BUSY_FLOOR_MS = 50;
/** What an attempt that was given up needs to end. */
const LATE_MS = 500;
/** How old the claim of an effect started by its commit may be before the store is asked whether it still holds. */
const FRESH_MS = 500;

/**
 * Runs effects on this node (E1–E3): takes jobs, claims the effect behind each, runs its handler, and sends
 * progress and result as messages to the actor that asked. Delivery of jobs is at least once; the claim makes one
 * runner at a time, and what an outdated attempt still reports is dropped by the store.
 */
export class EffectRunner {
  readonly #settings: RunnerSettings;
  readonly #handlers = new Map<string, EffectHandler>();
  readonly #attempts = new Map<string, EffectAttempt>();
  readonly #counts: RunnerCounts = {
    ...{ running: 0, parked: 0, started: 0, done: 0, failed: 0, retried: 0, inDoubt: 0, dropped: 0 },
  };
  readonly #parking: EffectParking;
  readonly #outages: StoreOutages;
  /** Also those that have left the queue's places. */
  readonly #unsettled = new Set<Promise<JobOutcome>>();
  readonly #giveUp = new AbortController();
  /** Each queue it takes from, with what ends that. */
  readonly #taking = new Map<string, Promise<() => Promise<void>>>();
  #unsubscribe: () => void = () => {};
  #stopping: Promise<void> | null = null;

  /** Throws when two handlers have the same kind. */
  constructor(options: EffectRunnerOptions) {
    this.#settings = runnerSettings(options);
    const { concurrency: places, mostParked: most } = this.#settings;
    this.#parking = new EffectParking({ most, places });
    this.#outages = new StoreOutages(this.#settings);
    for (const handler of options.handlers) {
      if (this.#handlers.has(handler.kind)) {
        throw new SvcError('invalid_config', `two effects are named ${handler.kind}`);
      }
      this.#handlers.set(handler.kind, handler);
    }
  }

  /** Under which it claims. */
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

  /** From now on jobs come from these queues; what runs of others goes on to its end. */
  async serve(queues: readonly string[]): Promise<void> {
    const changes: Promise<unknown>[] = [];
    for (const [name, taking] of this.#taking) {
      if (queues.includes(name)) continue;
      this.#taking.delete(name);
      // Whoever began to take hears that it failed; then there is nothing to end.
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
    // What could not be begun is begun anew by whoever asks next.
    return taking.catch((thrown: unknown) => {
      if (this.#taking.get(name) === taking) this.#taking.delete(name);
      throw thrown;
    });
  }

  /**
   * Takes no more jobs and resolves when none runs. Repeatable effects are stopped and given back, so that another
   * node has them at once; `once` effects get `stopGraceMs` to finish and are recorded as in doubt after it.
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
    // With the store gone, waiting longer helps nobody: the claims run out and other runners find the truth.
    const cancelWait = clock.after(stopGraceMs + 2 * abortGraceMs, () => this.#giveUp.abort());
    // A queue that never answered whether it takes, or never ends doing so, keeps no node from stopping.
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

  /** Drops what runs for an actor as if this process had died: nothing is reported, the claims run out. How many ran? */
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
        // Its runner may be seen to end before its claim does.
        const mostMs = claim.by === '' ? claim.retryAfterMs : this.#settings.claimTtlMs;
        return { kind: 'later', delayMs: Math.max(BUSY_FLOOR_MS, Math.min(claim.retryAfterMs, mostMs)) };
      }
      default:
        return this.#claimed(job, claim);
    }
  }

  /** The commit was the claim. A process held up in between may have lost it: nothing runs twice. */
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

  /** One id for all tries: a claim whose answer was lost is known again, and is ours. */
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
   * What runs once is lost by being taken over: silence alone is not enough. What this runner claimed runs here, also
   * when a peer took this node for dead.
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
      if (claim.kind === 'in_doubt') {
        const report = new EffectReport(this.#settings, job, claim.attempt, envelope, this.#giveUp.signal);
        if (await report.settle({ kind: 'in_doubt' })) this.#counts.inDoubt += 1;
        return DONE;
      }
      // Asked to stop while the claim was under way: nothing has run, so it goes back whatever its mode.
      if (this.#stopping !== null) return (await committed) === false ? DONE : await this.#giveBack(job, claim.attempt);
      const shared = { counts: this.#counts, parking: this.#parking, outages: this.#outages };
      const args = [this.#settings, shared, job, claim.attempt, envelope, this.#giveUp.signal, committed] as const;
      return await this.#untilParked(job, new EffectAttempt(...args), this.#handlers.get(envelope.request.kind));
    } catch (error) {
      return this.#unreported(job, error);
    }
  }

  /**
   * The request, waited for with its claim kept while the store it is in is away: an effect of mode `once` whose claim ran
   * out would be in doubt although nothing of it has run. Null: the claim was lost.
   */
  async #unpacked(job: EffectJob, claim: Extract<ClaimOutcome, { body: string }>): Promise<string | null> {
    const { unpack } = this.#settings;
    const over = new AbortController();
    const lost = (): void => over.abort();
    let renewing: Renewing | null = null;
    this.#giveUp.signal.addEventListener('abort', lost, { once: true });
    try {
      for (let tries = 0; !over.signal.aborted; tries += 1) {
        try {
          return await unpack(claim.body);
        } catch (thrown) {
          const store = storeAway(thrown);
          if (store === null) throw thrown;
          if (claim.kind === 'claimed') renewing ??= renewClaim(this.#settings, job, claim.attempt, false, lost);
          await this.#outages.wait(store, tries, over.signal);
        }
      }
      return null;
    } finally {
      renewing?.stop();
      this.#giveUp.signal.removeEventListener('abort', lost);
    }
  }

  #unreported(job: EffectJob, error: unknown): JobOutcome {
    this.#settings.onFault(error, { effectId: job.id, doing: 'reporting' });
    return { kind: 'later', delayMs: this.#settings.claimTtlMs };
  }

  /** What waits without a place is nothing of the queue's any more: its record says all, the sweep finds it. */
  async #untilParked(job: EffectJob, attempt: EffectAttempt, handler: EffectHandler | undefined): Promise<JobOutcome> {
    const ended = this.#run(job, attempt, handler).catch((error: unknown) => this.#unreported(job, error));
    this.#unsettled.add(ended);
    const settled = ended.finally(() => this.#unsettled.delete(ended));
    return Promise.race([settled, attempt.hasParked.then(() => DONE)]);
  }

  async #run(job: EffectJob, attempt: EffectAttempt, handler: EffectHandler | undefined): Promise<JobOutcome> {
    this.#attempts.set(job.id, attempt);
    this.#counts.started += 1;
    this.#counts.running += 1;
    try {
      return await attempt.run(handler);
    } finally {
      this.#counts.running -= 1;
      if (this.#attempts.get(job.id) === attempt) this.#attempts.delete(job.id);
    }
  }

  async #giveBack(job: EffectJob, attempt: number): Promise<JobOutcome> {
    const { store } = this.#settings;
    await persist(() => store.reopenEffect(job.partition, job.id, attempt, 0), this.#settings, this.#giveUp.signal);
    return { kind: 'later', delayMs: 0 };
  }
}

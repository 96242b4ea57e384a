import type { EffectLedger, EffectSettle } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { EffectHandler } from '../effect.ts';
import type { EffectJob, EffectQueue } from '../effect-queue.ts';
import { type OwnStore, toSvcError } from '../errors.ts';
import { SharedMoments, type Timed } from '../kit/shared-moments.ts';
import type { Message } from '../message.ts';
import { type Meter, noMeter } from '../meter.ts';
import type { Random } from '../random.ts';
import type { SpanSink } from '../tracing/spans.ts';
import type { EffectParking, StoreOutages, StoreProbe } from './store-outages.ts';

/** A claim that is being renewed. */
export interface Renewing {
  /** Renews for a longer term and less often from now on, because the effect waits without a slot. */
  slowDown(): void;
  speedUp(): void;
  stop(): void;
}

/**
 * Renews the claim of an attempt; a `lasting` handler gets longer terms. `lost` is called once, when the store says
 * that the claim is over. While the store does not answer, the work goes on: the claim may still hold, and the store
 * drops results of an attempt that is no longer the current one (K4). It is one object instead of functions that share
 * variables, because thousands of effects wait at once.
 */
export class ClaimRenewal implements Renewing, Timed {
  readonly #settings: RunnerSettings;
  readonly #job: EffectJob;
  readonly #attempt: number;
  readonly #lasting: boolean;
  readonly #lost: () => void;
  #isParked = false;
  #keptAt: number;
  #keptForMs: number;
  #failed = false;
  #beating = false;
  #stopped = false;
  #cancelTimer: (() => void) | null = null;
  /** The shared moment of the next renewal while it is parked. */
  #moment: number | null = null;

  constructor(settings: RunnerSettings, job: EffectJob, attempt: number, lasting: boolean, lost: () => void) {
    this.#settings = settings;
    this.#job = job;
    this.#attempt = attempt;
    this.#lasting = lasting;
    this.#lost = lost;
    this.#keptAt = settings.clock.monotonic();
    this.#keptForMs = settings.claimTtlMs;
    if (this.#ttlMs > this.#keptForMs) void this.#beat();
    else this.#next();
  }

  slowDown(): void {
    this.#isParked = true;
    if (!this.#beating && !this.#stopped) void this.#beat();
  }

  speedUp(): void {
    this.#isParked = false;
    if (!this.#beating && !this.#stopped) this.#next();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  get #ttlMs(): number {
    const { claimTtlMs, lastingClaimTtlMs, parkedClaimTtlMs } = this.#settings;
    const usual = this.#lasting ? Math.max(claimTtlMs, lastingClaimTtlMs) : claimTtlMs;
    return this.#isParked ? Math.max(usual, parkedClaimTtlMs) : usual;
  }

  get #everyMs(): number {
    return this.#isParked ? this.#settings.parkedRenewEveryMs : this.#settings.renewEveryMs;
  }

  async #beat(): Promise<void> {
    const { clock, store, onFault } = this.#settings;
    const { partition, id } = this.#job;
    const ttlMs = this.#ttlMs;
    const askedAt = clock.monotonic();
    this.#cancel();
    this.#beating = true;
    try {
      const kept = await store.keepEffect(partition, id, this.#attempt, ttlMs);
      this.#failed = false;
      if (!kept) return this.#lost();
      this.#keptAt = askedAt;
      this.#keptForMs = ttlMs;
    } catch (error) {
      this.#failed = true;
      if (toSvcError(error).code !== 'unavailable') onFault(error, { effectId: id, doing: 'renewing its claim' });
    } finally {
      this.#beating = false;
    }
    if (this.#stopped) return;
    // One renewal at a time: two could arrive in the wrong order.
    if (this.#ttlMs > this.#keptForMs && this.#keptAt === askedAt) void this.#beat();
    else this.#next();
  }

  #next(): void {
    const { clock } = this.#settings;
    // A process that was frozen renews as soon as it runs again. An unavailable store is called more often.
    const now = clock.monotonic();
    const dueAt = this.#failed ? now + this.#everyMs / 4 : this.#keptAt + this.#everyMs;
    this.#cancel();
    // Parked effects renew together, in one call of the store.
    if (this.#isParked) this.#moment = SharedMoments.of(clock).add(dueAt, this);
    else this.#cancelTimer = clock.after(Math.max(0, dueAt - now), () => this.onTime());
  }

  onTime(): void {
    this.#moment = null;
    void this.#beat();
  }

  #cancel(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#moment !== null) SharedMoments.of(this.#settings.clock).cancel(this.#moment, this);
    this.#moment = null;
  }
}

/**
 * Starts to renew after the commit that opens the effect. Before it there is no claim, and after a failed commit there
 * never is one.
 */
export function renewOnceCommitted(committed: Promise<boolean>, renew: () => Renewing): Renewing {
  let inner: Renewing | null = null;
  let isSlow = false;
  let stopped = false;
  const begun = committed.then((happened) => {
    if (!happened || stopped) return;
    inner = renew();
    if (isSlow) inner.slowDown();
  });
  // A renewal reports its own faults, and the caller that made the commit reports the commit's.
  begun.catch(() => {});
  return {
    slowDown() {
      isSlow = true;
      inner?.slowDown();
    },
    speedUp() {
      isSlow = false;
      inner?.speedUp();
    },
    stop() {
      stopped = true;
      inner?.stop();
    },
  };
}

/** The calls of the store that the runner needs. Claims go through the queue. */
export type RunnerStore = Pick<
  EffectLedger,
  'keepEffect' | 'progressEffect' | 'settleEffect' | 'reopenEffect' | 'onEffectCancelled'
>;

export interface EffectRunnerOptions {
  readonly store: RunnerStore;
  readonly queue: Pick<EffectQueue, 'work' | 'claim' | 'enqueue'>;
  readonly handlers: readonly EffectHandler[];
  /** Queues to take jobs from at the start: those of the pools that this node may serve. `serve` changes them. */
  readonly queues?: readonly string[];
  /** Whether a runner is known to be gone; its claims are then taken over. Default: none is. */
  readonly isGone?: (runner: string) => Promise<boolean>;
  /**
   * Whether a runner is known to have ended. A runner that is gone without that keeps its `once` effects until their
   * claims expire.
   */
  readonly hasEnded?: (runner: string) => Promise<boolean>;
  /** Hands a result to the partition when this process serves it. False: it was not written. Default: always false. */
  readonly settleHere?: (partition: Partition, result: EffectSettle) => Promise<boolean>;
  readonly node: string;
  /** This incarnation of the node. Claims of earlier ones count as expired. */
  readonly incarnation: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Effects of one queue that run at a time. */
  readonly concurrency: number;
  /** How long a claim lasts without a renewal. */
  readonly claimTtlMs?: number;
  readonly renewEveryMs?: number;
  /** How long a claim lasts for handlers that are `lasting`. */
  readonly lastingClaimTtlMs?: number;
  /**
   * How long a claim lasts for effects that wait without a slot. The claim of a runner that is known to be gone ends at once.
   */
  readonly parkedClaimTtlMs?: number;
  readonly parkedRenewEveryMs?: number;
  /** Most effects that wait without a slot at a time. Further ones keep their slots while they wait. */
  readonly mostParked?: number;
  /** Called with the number of effects that wait without a slot, after each change of it. */
  readonly onParked?: (count: number) => void;
  /** How long `stop` lets `once` effects finish before they are recorded as in doubt. */
  readonly stopGraceMs?: number;
  /** How long an aborted handler may take to end before the runner continues without it. */
  readonly abortGraceMs?: number;
  /** Returns the full request, fetched from Blobs where it is stored there. Default: it never is. */
  readonly unpack?: (body: string) => Promise<string>;
  /** Encodes a message and stores large payloads in Blobs. Throws `payload_too_large` beyond the limit. */
  readonly encode: (message: Message) => string | Promise<string>;
  /** Calls that test whether a store of this node answers again. Default: the work itself tests it. */
  readonly probes?: Partial<Record<OwnStore, StoreProbe>>;
  /** Called when effects begin to wait for a store of this node, and when it answers again; for the log. */
  readonly onOutage?: (store: OwnStore, change: 'began' | 'ended') => void;
  /** Default: nothing is counted. */
  readonly meter?: Meter;
  /** Default: spans are not exported. */
  readonly sink?: SpanSink | null;
  /** Called for faults that no result can carry; for the log. */
  readonly onFault: (error: unknown, about: { readonly effectId: string; readonly doing: string }) => void;
}

export type RunnerSettings = Required<EffectRunnerOptions>;

/** Fills in the defaults. Claims use the times of leases (K4). */
export function runnerSettings(options: EffectRunnerOptions): RunnerSettings {
  return {
    claimTtlMs: 6_000,
    renewEveryMs: 2_000,
    lastingClaimTtlMs: 30_000,
    parkedClaimTtlMs: 60_000,
    parkedRenewEveryMs: 20_000,
    mostParked: 50_000,
    onParked: () => {},
    // Together with the time that transports and stores take, a node ends within 30 s
    // (docs/operations/operating-a-cluster.md).
    stopGraceMs: 8_000,
    abortGraceMs: 3_000,
    queues: [],
    isGone: async () => false,
    hasEnded: async () => true,
    settleHere: async () => false,
    probes: {},
    unpack: async (body) => body,
    onOutage: () => {},
    meter: noMeter,
    sink: null,
    ...options,
  };
}

/** Counts of a runner since its start, for metrics. */
export interface RunnerCounts {
  /** Effects that run now. */
  running: number;
  /** Effects that wait without a slot now. */
  parked: number;
  started: number;
  done: number;
  failed: number;
  retried: number;
  inDoubt: number;
  /** Effects without a result, because they were cancelled or taken over. */
  dropped: number;
}

/** The objects that all attempts of a runner share. */
export interface RunnerShared {
  readonly counts: RunnerCounts;
  readonly parking: EffectParking;
  readonly outages: StoreOutages;
}

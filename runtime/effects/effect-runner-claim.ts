import type { EffectLedger, EffectSettle } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { EffectHandler } from '../effect.ts';
import type { EffectJob, EffectQueue } from '../effect-queue.ts';
import { type OwnStore, toSvcError } from '../errors.ts';
import type { Message } from '../message.ts';
import type { Random } from '../random.ts';
import type { EffectParking, StoreOutages, StoreProbe } from './store-outages.ts';

/** A claim that is kept alive. */
export interface Renewing {
  /** From now on for longer and less often: the effect waits without a place. */
  seldom(): void;
  often(): void;
  stop(): void;
}

/**
 * Keeps the claim of an attempt alive, `lasting` ones for longer. `lost` is called once, when the store says that the
 * claim is over. While the store does not answer the work goes on: the claim may hold all the same, and what an attempt
 * reports that is not the current one any more is dropped (K4).
 */
export function renewClaim(
  settings: RunnerSettings,
  job: EffectJob,
  attempt: number,
  lasting: boolean,
  lost: () => void,
): Renewing {
  const { clock, store, onFault } = settings;
  const first = { ttlMs: settings.claimTtlMs, everyMs: settings.renewEveryMs };
  const usual = lasting ? { ...first, ttlMs: Math.max(first.ttlMs, settings.lastingClaimTtlMs) } : first;
  const parked = {
    ttlMs: Math.max(usual.ttlMs, settings.parkedClaimTtlMs),
    everyMs: settings.parkedRenewEveryMs,
  };
  let pace = usual;
  let keptAt = clock.monotonic();
  let keptForMs = first.ttlMs;
  let failed = false;
  let beating = false;
  let stopped = false;
  let cancel = () => {};
  const beat = async () => {
    const { ttlMs } = pace;
    const askedAt = clock.monotonic();
    cancel();
    beating = true;
    try {
      const kept = await store.keepEffect(job.partition, job.id, attempt, ttlMs);
      failed = false;
      if (!kept) return lost();
      keptAt = askedAt;
      keptForMs = ttlMs;
    } catch (error) {
      failed = true;
      if (toSvcError(error).code !== 'unavailable') onFault(error, { effectId: job.id, doing: 'renewing its claim' });
    } finally {
      beating = false;
    }
    if (stopped) return;
    // Two beats at once could arrive in the other order.
    if (pace.ttlMs > keptForMs && keptAt === askedAt) void beat();
    else next();
  };
  const next = () => {
    // A process that was frozen asks as soon as it runs again; a store that is away is asked more often.
    const dueMs = failed ? pace.everyMs / 4 : keptAt + pace.everyMs - clock.monotonic();
    cancel();
    cancel = clock.after(Math.max(0, dueMs), () => void beat());
  };
  if (usual.ttlMs > keptForMs) void beat();
  else next();
  return {
    seldom() {
      pace = parked;
      if (!beating && !stopped) void beat();
    },
    often() {
      pace = usual;
      if (!beating && !stopped) next();
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}

/** There is nothing to keep before the commit that opens the effect; behind one that failed there never is. */
export function renewOnceCommitted(committed: Promise<boolean>, renew: () => Renewing): Renewing {
  let inner: Renewing | null = null;
  let isSeldom = false;
  let stopped = false;
  const begun = committed.then((happened) => {
    if (!happened || stopped) return;
    inner = renew();
    if (isSeldom) inner.seldom();
  });
  // Its own faults are `renewClaim`'s to tell; that of a commit is told by whoever made it.
  begun.catch(() => {});
  return {
    seldom() {
      isSeldom = true;
      inner?.seldom();
    },
    often() {
      isSeldom = false;
      inner?.often();
    },
    stop() {
      stopped = true;
      inner?.stop();
    },
  };
}

/** What the runner needs of the store; claims go through the queue. */
export type RunnerStore = Pick<
  EffectLedger,
  'keepEffect' | 'progressEffect' | 'settleEffect' | 'reopenEffect' | 'onEffectCancelled'
>;

export interface EffectRunnerOptions {
  readonly store: RunnerStore;
  readonly queue: Pick<EffectQueue, 'work' | 'claim'>;
  readonly handlers: readonly EffectHandler[];
  /** Queues to take jobs from at start: those of the pools this node may serve. `serve` changes them. */
  readonly queues?: readonly string[];
  /** Whether a runner is known to be gone; what it claimed is taken over. Default: none is. */
  readonly isGone?: (runner: string) => Promise<boolean>;
  /** Whether a runner was seen to end. One that is gone otherwise keeps its `once` effects as long as their claims last. */
  readonly hasEnded?: (runner: string) => Promise<boolean>;
  /** Hands a result to the partition when this process serves it; false: it was not written. Default: never is. */
  readonly settleHere?: (partition: Partition, result: EffectSettle) => Promise<boolean>;
  readonly node: string;
  /** This life of the node; claims of earlier ones count as expired. */
  readonly incarnation: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Effects of one queue that run at a time. */
  readonly concurrency: number;
  /** How long a claim lives without being renewed. */
  readonly claimTtlMs?: number;
  readonly renewEveryMs?: number;
  /** The same of handlers that are `lasting`. */
  readonly lastingClaimTtlMs?: number;
  /** The same of effects that wait without a place; a runner that is known to be gone is not waited for. */
  readonly parkedClaimTtlMs?: number;
  readonly parkedRenewEveryMs?: number;
  /** Effects that wait without a place at a time; one more waits in its place. */
  readonly mostParked?: number;
  /** How long `stop` lets `once` effects finish before they are recorded as in doubt. */
  readonly stopGraceMs?: number;
  /** How long an aborted handler may take to end before the runner goes on without it. */
  readonly abortGraceMs?: number;
  /** A request as it was asked for, fetched where it is stored aside. Default: none is. */
  readonly unpack?: (body: string) => Promise<string>;
  /** Encodes a message, large payloads stored aside. Throws `payload_too_large` beyond the limit. */
  readonly encode: (message: Message) => string | Promise<string>;
  /** How to ask whether a store of this node that was away answers again. Default: the work itself asks. */
  readonly probes?: Partial<Record<OwnStore, StoreProbe>>;
  /** Told when effects begin to wait for a store of this node, and when it answers again; for the log. */
  readonly onOutage?: (store: OwnStore, change: 'away' | 'back') => void;
  /** Told about faults that no result can carry; for the log. */
  readonly onFault: (error: unknown, about: { readonly effectId: string; readonly doing: string }) => void;
}

export type RunnerSettings = Required<EffectRunnerOptions>;

/** Fills in the defaults of leases (K4), which claims follow. */
export function runnerSettings(options: EffectRunnerOptions): RunnerSettings {
  return {
    claimTtlMs: 6_000,
    renewEveryMs: 2_000,
    lastingClaimTtlMs: 30_000,
    parkedClaimTtlMs: 60_000,
    parkedRenewEveryMs: 20_000,
    mostParked: 50_000,
    // Together with what transports and stores take, a node ends within 30 s (docs/operations/operating-a-cluster.md).
    stopGraceMs: 8_000,
    abortGraceMs: 3_000,
    queues: [],
    isGone: async () => false,
    hasEnded: async () => true,
    settleHere: async () => false,
    probes: {},
    unpack: async (body) => body,
    onOutage: () => {},
    ...options,
  };
}

/** Counts of a runner since its start, for metrics. */
export interface RunnerCounts {
  /** Running now. */
  running: number;
  /** Waiting without a place now. */
  parked: number;
  started: number;
  done: number;
  failed: number;
  retried: number;
  inDoubt: number;
  /** Cancelled or taken over: no result was sent. */
  dropped: number;
}

/** What all attempts of a runner have together. */
export interface RunnerShared {
  readonly counts: RunnerCounts;
  readonly parking: EffectParking;
  readonly outages: StoreOutages;
}

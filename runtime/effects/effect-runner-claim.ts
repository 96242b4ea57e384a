import type { EffectJob } from '../effect-queue.ts';
import { toSvcError } from '../errors.ts';
import type { RunnerSettings } from './effect-runner-options.ts';

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
 * reports that is not the current one any more is dropped (design K4).
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

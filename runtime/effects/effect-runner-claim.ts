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
 * Keeps the claim of an attempt alive. `lost` is called once when it is over: `gone` when the store says so, `silent`
 * when it could not be renewed in time (design K4).
 */
export function renewClaim(
  settings: RunnerSettings,
  job: EffectJob,
  attempt: number,
  lost: (cause: 'gone' | 'silent') => void,
): Renewing {
  const { clock, store, onFault } = settings;
  const usual = { ttlMs: settings.claimTtlMs, everyMs: settings.renewEveryMs };
  const parked = { ttlMs: settings.parkedClaimTtlMs, everyMs: settings.parkedRenewEveryMs };
  let pace = usual;
  let keptAt = clock.monotonic();
  let keptForMs = usual.ttlMs;
  let beating = false;
  let stopped = false;
  let cancel = () => {};
  const beat = async () => {
    const { ttlMs } = pace;
    const askedAt = clock.monotonic();
    cancel();
    beating = true;
    try {
      if (!(await store.keepEffect(job.partition, job.id, attempt, ttlMs))) return lost('gone');
      keptAt = askedAt;
      keptForMs = ttlMs;
    } catch (error) {
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
    const leftMs = keptAt + keptForMs - clock.monotonic();
    if (leftMs <= 0) return lost('silent');
    cancel();
    cancel = clock.after(Math.min(pace.everyMs, leftMs), () => void beat());
  };
  next();
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

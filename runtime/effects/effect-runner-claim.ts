import type { EffectJob } from '../effect-queue.ts';
import { toSvcError } from '../errors.ts';
import type { RunnerSettings } from './effect-runner-options.ts';

/**
 * Keeps the claim of an attempt alive. `lost` is called once when it is over: `gone` when the store says so, `silent`
 * when it could not be renewed in time (design K4). Returns how to stop.
 */
export function renewClaim(
  settings: RunnerSettings,
  job: EffectJob,
  attempt: number,
  lost: (cause: 'gone' | 'silent') => void,
): () => void {
  const { clock, store, claimTtlMs, renewEveryMs, onFault } = settings;
  let keptAt = clock.monotonic();
  let stopped = false;
  let cancel = () => {};
  const beat = async () => {
    const askedAt = clock.monotonic();
    try {
      if (!(await store.keepEffect(job.partition, job.id, attempt, claimTtlMs))) return lost('gone');
      keptAt = askedAt;
    } catch (error) {
      if (toSvcError(error).code !== 'unavailable') onFault(error, { effectId: job.id, doing: 'renewing its claim' });
    }
    if (!stopped) next();
  };
  const next = () => {
    const leftMs = keptAt + claimTtlMs - clock.monotonic();
    if (leftMs <= 0) return lost('silent');
    cancel = clock.after(Math.min(renewEveryMs, leftMs), () => void beat());
  };
  next();
  return () => {
    stopped = true;
    cancel();
  };
}

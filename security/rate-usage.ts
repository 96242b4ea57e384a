import type { NodeRateLimits } from '../manifests/node/rate-limits.ts';
import type { RateLimits } from '../runtime/rate-limits.ts';
import type { RateUsage } from './api.ts';
import { countBound, rateBuckets } from './rate-bounds.ts';
import { countersOf } from './rate-counters.ts';
import type { OverridesOf } from './rate-overrides.ts';
import type { RunningCounts } from './running-limits.ts';

/** What somebody has used of its limits, over all nodes. Throws `unavailable` when the counters cannot be reached. */
export function createRateUsage(parts: {
  readonly limits: RateLimits;
  readonly settings: NodeRateLimits;
  readonly overrides: OverridesOf;
  readonly running: RunningCounts;
}): RateUsage {
  const { limits, settings } = parts;
  return {
    async of(principal) {
      const overrides = await parts.overrides.of(principal);
      const counters = rateBuckets(settings, principal, overrides).flatMap((bucket) => countersOf(principal, bucket));
      const counts = await limits.read(principal.tenant, counters);
      const { tenant, subject, kind, tier } = principal;
      return {
        ...{ tenant, subject, kind, tier },
        buckets: counters.map(({ bucket, window, limit }, n) => ({
          ...{ name: bucket, window, limit, used: counts[n]?.used ?? 0 },
          resets_at: new Date(counts[n]?.resetsAt ?? 0).toISOString(),
        })),
        concurrent_executions: {
          used: await parts.running.count(principal),
          limit: countBound(settings, principal, 'concurrent_executions', overrides),
        },
        agents: { limit: countBound(settings, principal, 'agents', overrides) },
      };
    },
  };
}

import type { NodeRateLimits } from '../manifests/node/rate-limits.ts';
import { SvcError } from '../runtime/errors.ts';
import type { RateLimits } from '../runtime/rate-limits.ts';
import type { Limited, TierLimits } from './api.ts';
import { rateBucket } from './rate-bounds.ts';
import { countersOf } from './rate-counters.ts';
import type { OverridesOf } from './rate-overrides.ts';

/**
 * Limits of users over all nodes (decided.md "Limits", original-facts 13.1): per user of a tenant, by settings and by what
 * operators set over them at run time. Fails with `unavailable` when the counters cannot be reached, or the overrides
 * of somebody whose were never seen: what cannot be counted is not let through. Without `overrides` there are none.
 */
export function createTierLimits(parts: {
  readonly limits: RateLimits;
  readonly settings: NodeRateLimits;
  readonly overrides?: OverridesOf;
}): TierLimits {
  return {
    async take(principal, what, units = 1) {
      const bucket = rateBucket(parts.settings, principal, what, await parts.overrides?.of(principal));
      if (bucket === null) return;
      const limits = countersOf(principal, bucket);
      const outcome = await parts.limits.take(principal.tenant, limits, units);
      if (outcome.taken) return;
      const { limit, windowMs } = outcome.broken;
      const window = limits.find((one) => one.windowMs === windowMs)?.window ?? `${windowMs} ms`;
      throw refused(what, bucket.name, { limit, window, units, retryAfterMs: outcome.retryAfterMs });
    },
  };
}

interface Broken {
  readonly limit: number;
  readonly window: string;
  readonly units: number;
  readonly retryAfterMs: number;
}

function refused(what: Limited, bucket: string, { limit, window, units, retryAfterMs }: Broken): SvcError {
  const name = (text: string): string => text.replace(/^tool:/, 'calls of tool ').replaceAll('_', ' ');
  const counted = bucket === what ? '' : ` (counted together: ${bucket.slice('tool:'.length)})`;
  const rule = `at most ${limit} ${name(what)} per ${window}${counted}`;
  const text = units > limit ? `${rule}; ${units} at once can never be had.` : `${rule}; try again later.`;
  return new SvcError('rate_limited', text, { field: what, retryAfterMs });
}

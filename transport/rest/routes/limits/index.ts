import type { RestApp, RestParts } from '../../parts.ts';
import { listOverridesRoute } from './list-overrides.ts';
import { putOverrideRoute } from './put-override.ts';
import { removeOverrideRoute } from './remove-override.ts';
import { ownUsageRoute, usageRoute } from './usage.ts';

/** /v1/admin/rate-limits and /v1/user/rate-limits, on nodes that count. */
export function limitRoutes(app: RestApp, { rateOverrides, rateUsage }: RestParts): void {
  if (rateOverrides !== undefined) {
    for (const route of [listOverridesRoute, putOverrideRoute, removeOverrideRoute]) route(app, rateOverrides);
  }
  if (rateUsage === undefined) return;
  ownUsageRoute(app, rateUsage);
  usageRoute(app, rateUsage);
}

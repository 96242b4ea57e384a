import { createHash } from 'node:crypto';
import {
  DEFAULT_TIER_RATES,
  type NodeRateLimits,
  RATE_WINDOWS,
  type RateBounds,
  type Rates,
  type RateWindow,
} from '../manifests/node/rate-limits.ts';
import { SvcError } from '../runtime/errors.ts';
import type { RateLimit, RateLimits } from '../runtime/rate-limits.ts';
import type { Limited, Principal, TierLimits } from './api.ts';

export interface RunningCounts {
  /** Number of running executions that the principal started while it had a bound. */
  count(principal: Principal): Promise<number>;
}

/**
 * Overrides of a principal, at most a second old. While the store is down the last known value applies. Throws `unavailable`
 * when there is none.
 */
export interface OverridesOf {
  of(principal: Pick<Principal, 'tenant' | 'subject'>): Promise<OverridingRates>;
}

/** Week and month are 7 and 30 days: windows are fixed and of equal length (runtime/rate-limits.ts). */
const WINDOW_MS: Readonly<Record<RateWindow, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
  month: 2_592_000_000,
};

/** The limits of one counter, for each window. */
interface RateBucket {
  /** `model_calls`, or the pattern of tools: `tool:fs.*`. */
  readonly name: string;
  readonly bounds: readonly { readonly window: RateWindow; readonly limit: number }[];
}

/** Rates that operators set at run time for a principal (rate-overrides.ts). */
interface OverridingRates {
  readonly tenant: Rates | null;
  readonly user: Rates | null;
}

const NOTHING: OverridingRates = { tenant: null, user: null };

/** The limits of `what` for a principal; null when it has none. */
export function rateBucket(
  settings: NodeRateLimits,
  principal: Principal,
  what: Limited,
  overrides: OverridingRates = NOTHING,
): RateBucket | null {
  return bucketOf(ratesOf(settings, principal, overrides), what);
}

export function rateBuckets(settings: NodeRateLimits, principal: Principal, overrides: OverridingRates): RateBucket[] {
  const layers = ratesOf(settings, principal, overrides);
  const tools = new Set(layers.flatMap((rates) => Object.keys(rates.tools ?? {})).sort());
  const buckets = [
    ...PLAIN.map((what) => bucketOf(layers, what)),
    ...[...tools].map((one) => merged(ofPattern(layers, one))),
  ];
  return buckets.filter((bucket) => bucket !== null);
}

const PLAIN = ['agent_executions', 'workflow_executions', 'model_calls', 'model_tokens'] as const;

function bucketOf(layers: readonly Rates[], what: Limited): RateBucket | null {
  const tool = what.startsWith('tool:') ? what.slice('tool:'.length) : null;
  const found =
    tool === null ? { name: what, bounds: layers.map((rates) => plain(rates, what)) } : ofTool(layers, tool);
  return found === null ? null : merged(found);
}

interface Layered {
  readonly name: string;
  readonly bounds: readonly (RateBounds | undefined)[];
}

/** Later layers win, window by window; null removes a limit. */
function merged({ name, bounds: layers }: Layered): RateBucket | null {
  const last: RateBounds = Object.assign({}, ...layers.map(spoken));
  const bounds = RATE_WINDOWS.flatMap((window) => {
    const limit = last[window];
    return limit === undefined || limit === null ? [] : [{ window, limit }];
  });
  return bounds.length === 0 ? null : { name, bounds };
}

/** Maximum number that a principal may have at once; null: no limit. */
export function countBound(
  settings: NodeRateLimits,
  principal: Principal,
  what: 'agents' | 'concurrent_executions',
  overrides: OverridingRates = NOTHING,
): number | null {
  const [last = null] = ratesOf(settings, principal, overrides)
    .flatMap(({ [what]: most }) => (most === undefined ? [] : [most]))
    .slice(-1);
  return last;
}

/**
 * The rates for the principal, the weakest first: of its tier or kind, of its tenant, of the user. On each level an override
 * comes after the settings.
 */
function ratesOf(settings: NodeRateLimits, principal: Principal, overrides: OverridingRates): Rates[] {
  const { kind, tier, tenant, subject } = principal;
  const { tiers, kinds, tenants, users } = settings;
  const own = <T>(map: Readonly<Record<string, T>>, key: string): T | undefined =>
    Object.hasOwn(map, key) ? map[key] : undefined;
  const base = kind === 'consumer' || kind === 'tenant_user' ? [DEFAULT_TIER_RATES[tier], tiers[tier]] : [kinds[kind]];
  const ofTenant = [own(tenants, tenant), overrides.tenant];
  const ofUser = [own(users, subject), own(users, `${tenant}/${subject}`), overrides.user];
  return [...base, ...ofTenant, ...ofUser].filter((rates) => rates !== undefined && rates !== null);
}

function plain(rates: Rates, what: Limited): RateBounds | undefined {
  if (what === 'agent_executions' || what === 'workflow_executions') return rates[what];
  return what === 'model_calls' || what === 'model_tokens' ? rates[what] : undefined;
}

/** The narrowest pattern of any layer that matches the tool, with its rates from all layers. */
function ofTool(layers: readonly Rates[], tool: string) {
  const patterns = layers.flatMap((rates) => Object.keys(rates.tools ?? {})).filter((one) => covers(one, tool));
  const width = (pattern: string): number => (pattern === tool ? 0 : 1 / pattern.length);
  const [narrowest] = patterns.toSorted((a, b) => width(a) - width(b));
  if (narrowest === undefined) return null;
  return ofPattern(layers, narrowest);
}

const ofPattern = (layers: readonly Rates[], pattern: string): Layered => ({
  name: `tool:${pattern}`,
  bounds: layers.map((rates) => rates.tools?.[pattern]),
});

const covers = (pattern: string, tool: string): boolean =>
  pattern === tool || pattern === '*' || (pattern.endsWith('.*') && tool.startsWith(pattern.slice(0, -1)));

const spoken = (bounds: RateBounds | undefined): RateBounds =>
  Object.fromEntries(Object.entries(bounds ?? {}).filter(([, limit]) => limit !== undefined));

/** One limit of a bucket, as the shared counters store it. */
interface Counter extends RateLimit {
  readonly bucket: string;
  readonly window: RateWindow;
}

/** The counters of a bucket, one for each window. */
export function countersOf(principal: Pick<Principal, 'subject'>, { name, bounds }: RateBucket): Counter[] {
  const key = `${subjectKey(principal)} ${name}`;
  return bounds.map(({ window, limit }) => ({ key, limit, windowMs: WINDOW_MS[window], window, bucket: name }));
}

/** Digest of a subject. Subjects may have any length and any characters; a key has a fixed length. */
export const subjectKey = ({ subject }: Pick<Principal, 'subject'>): string =>
  createHash('sha256').update(subject).digest('base64url').slice(0, 32);

/**
 * Rate limits of users over all nodes (H27): for each user of a tenant, from the settings and the overrides set at run time.
 * Without `overrides` there are none. Calls fail with `unavailable` when the counters cannot be reached, or when the overrides
 * of a user were never read: calls that cannot be counted are refused.
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
  const text = units > limit ? `${rule}; ${units} at once are never allowed.` : `${rule}; try again later.`;
  return new SvcError('rate_limited', text, { field: what, retryAfterMs });
}

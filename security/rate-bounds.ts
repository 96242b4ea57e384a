import {
  DEFAULT_TIER_RATES,
  type NodeRateLimits,
  RATE_WINDOWS,
  type RateBounds,
  type Rates,
  type RateWindow,
} from '../manifests/node/rate-limits.ts';
import type { Limited, Principal } from './api.ts';

/** Week and month are 7 and 30 days: windows are fixed and of equal length (runtime/rate-limits.ts). */
export const WINDOW_MS: Readonly<Record<RateWindow, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
  month: 2_592_000_000,
};

/** What is counted together, and how much of it fits a window. */
export interface RateBucket {
  /** `model_calls`, or the pattern of tools: `tool:fs.*`. */
  readonly name: string;
  readonly bounds: readonly { readonly window: RateWindow; readonly limit: number }[];
}

/** The bounds that count for a principal; null when it has none. */
export function rateBucket(settings: NodeRateLimits, principal: Principal, what: Limited): RateBucket | null {
  const layers = ratesOf(settings, principal);
  const tool = what.startsWith('tool:') ? what.slice('tool:'.length) : null;
  const found =
    tool === null ? { name: what, bounds: layers.map((rates) => plain(rates, what)) } : ofTool(layers, tool);
  if (found === null) return null;
  // Later layers win, window by window; null takes a bound away.
  const merged: RateBounds = Object.assign({}, ...found.bounds.map(spoken));
  const bounds = RATE_WINDOWS.flatMap((window) => {
    const limit = merged[window];
    return limit === undefined || limit === null ? [] : [{ window, limit }];
  });
  return bounds.length === 0 ? null : { name: found.name, bounds };
}

/** How many agents a principal may have at once; null: no bound. */
export function agentBound(settings: NodeRateLimits, principal: Principal): number | null {
  const [last = null] = ratesOf(settings, principal)
    .flatMap(({ agents }) => (agents === undefined ? [] : [agents]))
    .slice(-1);
  return last;
}

/** Rates that speak about the principal, the strongest last. */
function ratesOf(settings: NodeRateLimits, { kind, tier, tenant, subject }: Principal): Rates[] {
  const { tiers, kinds, tenants, users } = settings;
  const own = <T>(map: Readonly<Record<string, T>>, key: string): T | undefined =>
    Object.hasOwn(map, key) ? map[key] : undefined;
  const base = kind === 'consumer' || kind === 'tenant_user' ? [DEFAULT_TIER_RATES[tier], tiers[tier]] : [kinds[kind]];
  const named = [own(tenants, tenant), own(users, subject), own(users, `${tenant}/${subject}`)];
  return [...base, ...named].filter((rates) => rates !== undefined);
}

function plain(rates: Rates, what: Limited): RateBounds | undefined {
  if (what === 'agent_executions' || what === 'workflow_executions') return rates[what];
  return what === 'model_calls' || what === 'model_tokens' ? rates[what] : undefined;
}

/** The narrowest pattern that any layer has for the tool, as all layers say it. */
function ofTool(layers: readonly Rates[], tool: string) {
  const patterns = layers.flatMap((rates) => Object.keys(rates.tools ?? {})).filter((one) => covers(one, tool));
  const width = (pattern: string): number => (pattern === tool ? 0 : 1 / pattern.length);
  const [narrowest] = patterns.toSorted((a, b) => width(a) - width(b));
  if (narrowest === undefined) return null;
  return { name: `tool:${narrowest}`, bounds: layers.map((rates) => rates.tools?.[narrowest]) };
}

const covers = (pattern: string, tool: string): boolean =>
  pattern === tool || pattern === '*' || (pattern.endsWith('.*') && tool.startsWith(pattern.slice(0, -1)));

const spoken = (bounds: RateBounds | undefined): RateBounds =>
  Object.fromEntries(Object.entries(bounds ?? {}).filter(([, limit]) => limit !== undefined));

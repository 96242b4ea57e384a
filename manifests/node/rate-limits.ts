import { z } from 'zod';

/** Units in one window. `null`: no bound; 0: nothing at all. What is not said is left to the rates below it. */
const bound = z.number().int().min(0).max(1_000_000_000_000).nullable().optional();

export const RATE_WINDOWS = ['minute', 'hour', 'day', 'week', 'month'] as const;
export type RateWindow = (typeof RATE_WINDOWS)[number];

const Bounds = z.strictObject({ minute: bound, hour: bound, day: bound, week: bound, month: bound });
export type RateBounds = z.output<typeof Bounds>;

const toolPattern = z
  .string()
  .max(200)
  .regex(/^(\*|[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?)$/, 'expected fs.read, fs.* or *');

/** Rates of one user. Calls of all tools under one pattern are counted together. */
export const Rates = z.strictObject({
  agent_executions: Bounds.optional(),
  workflow_executions: Bounds.optional(),
  model_calls: Bounds.optional(),
  model_tokens: Bounds.optional(),
  /** Pattern to bounds; of several that match a tool the narrowest counts. */
  tools: z.record(toolPattern, Bounds).optional(),
  /** Agents that are there at once; no window. */
  agents: bound,
  /** Executions of agents and workflows that run at once, children not counted; no window. */
  concurrent_executions: bound,
});
export type Rates = z.output<typeof Rates>;

const name = z.string().min(1).max(256);

/** `spec.rate_limits` (decided.md "Limits"): laid over the defaults, window by window; user > tenant > tier or kind. */
export const NodeRateLimits = z.strictObject({
  /** For consumers and tenant users. */
  tiers: z.partialRecord(z.enum(['free', 'pro', 'business', 'enterprise']), Rates).default({}),
  /** For the others, who have no rates unless they are set here or by name. */
  kinds: z.partialRecord(z.enum(['operator', 'service_account', 'actor', 'local']), Rates).default({}),
  /** By tenant: for each of its users, whatever they are. */
  tenants: z.record(name, Rates).default({}),
  /** By subject of the token, or `TENANT/SUBJECT`. */
  users: z.record(z.string().min(1).max(513), Rates).default({}),
});
export type NodeRateLimits = z.output<typeof NodeRateLimits>;

const all = (minute: number, hour: number, day: number, week: number, month: number): RateBounds => ({
  ...{ minute, hour, day, week, month },
});

/** Original-facts 13.1. */
export const DEFAULT_TIER_RATES: Readonly<Record<'free' | 'pro' | 'business' | 'enterprise', Rates>> = {
  free: {
    agents: 5,
    concurrent_executions: 2,
    agent_executions: all(3, 5, 20, 80, 100),
    workflow_executions: all(2, 3, 10, 40, 50),
    model_calls: all(20, 100, 500, 2_500, 5_000),
    model_tokens: all(20_000, 100_000, 500_000, 2_500_000, 5_000_000),
    tools: { 'fs.*': { minute: 60 }, 'web.search': { minute: 20, hour: 30 }, '*': { minute: 30 } },
  },
  pro: {
    agents: 50,
    concurrent_executions: 10,
    agent_executions: all(10, 50, 200, 1_000, 2_000),
    workflow_executions: all(5, 25, 100, 500, 1_000),
    model_calls: all(60, 500, 3_000, 15_000, 30_000),
    model_tokens: all(100_000, 500_000, 3_000_000, 15_000_000, 30_000_000),
    tools: { 'fs.*': { minute: 300 }, 'web.search': { minute: 60, hour: 300 }, '*': { minute: 120 } },
  },
  business: {
    agents: 200,
    concurrent_executions: 25,
    agent_executions: all(30, 200, 1_000, 5_000, 10_000),
    workflow_executions: all(15, 100, 500, 2_500, 5_000),
    model_calls: all(200, 2_000, 15_000, 75_000, 150_000),
    model_tokens: all(500_000, 2_500_000, 15_000_000, 75_000_000, 150_000_000),
    tools: { 'fs.*': { minute: 600 }, 'web.search': { minute: 200, hour: 1_000 }, '*': { minute: 300 } },
  },
  enterprise: {
    agents: 500,
    concurrent_executions: 50,
    agent_executions: all(100, 1_000, 10_000, 50_000, 200_000),
    workflow_executions: all(50, 500, 5_000, 25_000, 100_000),
    model_calls: all(500, 10_000, 100_000, 500_000, 1_000_000),
    model_tokens: all(2_000_000, 10_000_000, 100_000_000, 500_000_000, 1_000_000_000),
    tools: { 'fs.*': { minute: 1_200 }, 'web.search': { minute: 500, hour: 5_000 }, '*': { minute: 600 } },
  },
};

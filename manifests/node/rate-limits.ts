import { z } from 'zod';
import { refuse } from '../expectation.ts';
import { secretText, webhookSecretVariable } from '../secret.ts';

/** Units in one window. `null`: no limit; 0: none at all. An absent window falls back to the rates below. */
const bound = z.number().int().min(0).max(1_000_000_000_000).nullable().optional();

export const RATE_WINDOWS = ['minute', 'hour', 'day', 'week', 'month'] as const;

export type RateWindow = (typeof RATE_WINDOWS)[number];

const Bounds = z.strictObject({ minute: bound, hour: bound, day: bound, week: bound, month: bound });

export type RateBounds = z.output<typeof Bounds>;

const toolPattern = z
  .string()
  .max(200)
  .regex(/^(\*|[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?)$/, 'expected fs.read, fs.* or *');

/** Rates of one user. Calls of all tools that match one pattern count together. */
export const Rates = z.strictObject({
  agent_executions: Bounds.optional(),
  workflow_executions: Bounds.optional(),
  model_calls: Bounds.optional(),
  model_tokens: Bounds.optional(),
  /** Limits by pattern; the narrowest one that matches a tool applies. */
  tools: z.record(toolPattern, Bounds).optional(),
  /** Deployed agents; no window. */
  agents: bound,
  /** Executions of agents and workflows that run in parallel, without children; no window. */
  concurrent_executions: bound,
});

export type Rates = z.output<typeof Rates>;

const name = z.string().min(1).max(256);

/** `spec.rate_limits` (H27): override the defaults for each window; user > tenant > tier or kind. */
export const NodeRateLimits = z.strictObject({
  /** For consumers and tenant users. */
  tiers: z.partialRecord(z.enum(['free', 'pro', 'business', 'enterprise']), Rates).default({}),
  /** For all other kinds, which have no limits unless set here or by name. */
  kinds: z.partialRecord(z.enum(['operator', 'service_account', 'actor', 'local']), Rates).default({}),
  /** By tenant: for each of its users of any kind. */
  tenants: z.record(name, Rates).default({}),
  /** By subject of the token, or `TENANT/SUBJECT`. */
  users: z.record(z.string().min(1).max(513), Rates).default({}),
});

export type NodeRateLimits = z.output<typeof NodeRateLimits>;

const all = (minute: number, hour: number, day: number, week: number, month: number): RateBounds => ({
  minute,
  hour,
  day,
  week,
  month,
});

/** Default windows of each tier (H27). */
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

const source = z.string().min(1).max(200);

/** Signature scheme of a source. `svc` is this product's (H25), the others are those of the senders. */
export const WebhookScheme = z.enum(['svc', 'standard-webhooks', 'stripe', 'slack', 'github']);

export type WebhookScheme = z.output<typeof WebhookScheme>;

/** Their signature covers only the body, so a recorded delivery could be sent again at any time. */
const BODY_ONLY: readonly WebhookScheme[] = ['svc', 'github'];

const Webhook = z
  .strictObject({
    source,
    scheme: WebhookScheme.default('svc'),
    /**
     * `key`: deliveries with the same key are one stimulus. `digest`: so are deliveries with the same body and signature,
     * whatever their key.
     */
    repeat: z.enum(['key', 'digest']).default('key'),
    /** Any of them is accepted: both the new and the old one while senders change over. */
    secrets: z.array(secretText).min(1).max(4).optional(),
  })
  .superRefine(({ scheme, repeat }, context) => {
    if (repeat === 'key' || BODY_ONLY.includes(scheme)) return;
    const message = `expected key: ${scheme} signs the time of a delivery, so that each try has another signature`;
    refuse(context, ['repeat'], message);
  });

/** `spec.stimulus` (H23). */
export const NodeStimulus = z.strictObject({
  routes: z
    .array(
      z.strictObject({
        source,
        workflow: z.string().min(1).max(200),
        tenant: z.string().min(1).max(128).optional(),
      }),
    )
    .max(1_000)
    .default([]),
  /** A source that is not listed uses scheme `svc` with the secret of its variable (H25). */
  webhooks: z.array(Webhook).max(1_000).default([]),
  router_agent: z.string().min(1).max(200).optional(),
  classification_confidence_threshold: z.number().min(0).max(1).default(0.7),
  classification_timeout_secs: z.number().int().min(1).max(3_600).default(30),
});

/** One of `spec.stimulus.webhooks`, or the defaults for a source that is not listed. */
export interface WebhookSettings {
  readonly source: string;
  readonly scheme: WebhookScheme;
  readonly repeat: 'key' | 'digest';
  readonly secrets?: readonly string[] | undefined;
}

/** The settings of each source, by name without case. */
export function webhooksBySource(webhooks: readonly WebhookSettings[]): (source: string) => WebhookSettings {
  const known = new Map(webhooks.map((one) => [one.source.toLowerCase(), one]));
  return (name) => known.get(name.toLowerCase()) ?? { source: name, scheme: 'svc', repeat: 'key' };
}

/**
 * References to the secrets of a source: the configured ones, or its variable (H25) and `secret:webhooks/SOURCE`. Equal
 * references are equal texts: `literal:VALUE` and `VALUE` are the same.
 */
export const webhookSecretReferences = ({ source: name, secrets }: WebhookSettings): readonly string[] =>
  secrets?.map((reference) => reference.replace(/^literal:/, '')) ?? [
    `env:${webhookSecretVariable(name)}`,
    `secret:webhooks/${name.toLowerCase()}`,
  ];

/** Name of a secret in errors: never its value. */
export function secretName(reference: string): string {
  if (reference.startsWith('env:')) return reference.slice('env:'.length);
  return reference.startsWith('secret:') ? reference : 'a value in the settings';
}

const DAY_MS = 86_400_000;

const MOST_MS = 36_500 * DAY_MS;

const WITHOUT_END = -1;

const orWithoutEnd = (from: number, to: number, expected: string) =>
  z
    .number()
    .int()
    .refine((value) => value === WITHOUT_END || (value >= from && value <= to), expected);

const bytes = orWithoutEnd(1_024, Number.MAX_SAFE_INTEGER, 'expected bytes, at least 1024, or -1 for no limit');

const milliseconds = (from: number) =>
  orWithoutEnd(from, MOST_MS, `expected milliseconds from ${from} to ${MOST_MS}, or -1 for no limit`);

/** Retention by time and by size, whichever is reached first (Kafka's terms); -1 is no limit. */
const rule = (from: number) => ({ retention_ms: milliseconds(from), retention_bytes: bytes });

const RUNS = rule(1_000);

/** A webhook repeated within a day is a duplicate, so its stimulus is kept for at least that long. */
const STIMULI = rule(DAY_MS);

const ruleOf = (fields: typeof RUNS, retentionMs: number) =>
  z
    .strictObject({
      retention_ms: fields.retention_ms.default(retentionMs),
      retention_bytes: fields.retention_bytes.default(WITHOUT_END),
    })
    .prefault({});

const ownRuleOf = (fields: typeof RUNS) =>
  z.strictObject({ retention_ms: fields.retention_ms.optional(), retention_bytes: fields.retention_bytes.optional() });

const Tenant = z.strictObject({
  runs: ownRuleOf(RUNS).optional(),
  stimuli: ownRuleOf(STIMULI).optional(),
  ledger: ownRuleOf(RUNS).optional(),
  dead_letters: ownRuleOf(RUNS).optional(),
});

/** `spec.retention`: automatic removal (docs/operations/retention-and-backup.md). */
export const NodeRetention = z.strictObject({
  /** From the end of one sweep to the start of the next. */
  interval_secs: z.number().int().min(1).max(86_400).default(60),
  /** Ended executions and workflow runs, with all their data. */
  runs: ruleOf(RUNS, 30 * DAY_MS),
  stimuli: ruleOf(STIMULI, 30 * DAY_MS),
  /** The record of all deliveries. */
  ledger: ruleOf(RUNS, 7 * DAY_MS),
  /** Dead-lettered messages. */
  dead_letters: ruleOf(RUNS, 30 * DAY_MS),
  /** By tenant; absent values are those above. */
  tenants: z
    .record(z.string().min(1).max(128), Tenant)
    .refine((tenants) => Object.keys(tenants).length <= 10_000, 'expected at most 10000 tenants')
    .default({}),
});

export type NodeRetention = z.output<typeof NodeRetention>;

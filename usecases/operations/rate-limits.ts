import { z } from 'zod';
import { Rates } from '../../manifests/node/rate-limits.ts';
import { TIERS } from '../../runtime/identity.ts';
import { operation } from './operation.ts';
import { nextPageField, pageAsked, pageFields } from './schemas/fields.ts';

const MOST_OVERRIDES_LISTED = 1_000;

const tenant = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'tenant: expected a tenant slug')
  .describe('Tenant slug.');

const subject = z.string().min(1).max(256).describe('Subject of the user’s token.');

const OverrideTargetQuery = z.object({
  tenant,
  subject: subject.optional().describe('Without it the rates are those of each user of the tenant.'),
});

const OverridesQuery = z.object({
  tenant: tenant.optional(),
  subject: subject.optional(),
  ...pageFields(100, MOST_OVERRIDES_LISTED),
});

/** The setting of the same shape has its own schema, which refers to no component. */
const OverrideRates = Rates.meta({ id: 'Rates' });

const OverrideBody = z
  .strictObject({
    tenant,
    subject: subject.optional().describe('Without it the rates are those of each user of the tenant.'),
    rates: OverrideRates.describe(
      'Fields as in `spec.rate_limits.users`. An absent field keeps the rate of the settings; null removes the limit.',
    ),
  })
  .meta({ id: 'RateOverrideRequest' });

const OverrideAnswer = z
  .object({
    tenant: z.string(),
    subject: z.string().nullable(),
    rates: OverrideRates,
    updated_at: z.string(),
    updated_by: z.string(),
  })
  .meta({ id: 'RateOverride' });

const OverrideListAnswer = z.object({ overrides: z.array(OverrideAnswer), ...nextPageField });

const OverrideRemovedAnswer = z.object({
  tenant: z.string(),
  subject: z.string().nullable(),
  deleted: z.literal(true),
});

const KINDS = ['tenant_user', 'consumer', 'service_account', 'operator', 'local'] as const;

const UsageQuery = z.object({
  tenant,
  subject,
  tier: z.enum(TIERS).default('free').describe('Tier of the user, by which the limits are shown.'),
  kind: z.enum(KINDS).default('tenant_user').describe('What the caller is.'),
});

const count = z.number().int();

const UsageAnswer = z
  .object({
    tenant: z.string(),
    subject: z.string(),
    kind: z.string(),
    tier: z.string(),
    buckets: z
      .array(
        z.object({
          name: z.string().describe('`model_calls`, or the pattern of tools counted together: `tool:fs.*`.'),
          window: z.enum(['minute', 'hour', 'day', 'week', 'month']),
          used: count,
          limit: count,
          resets_at: z.string(),
        }),
      )
      .describe('One entry for each limit.'),
    concurrent_executions: z.object({ used: count, limit: count.nullable() }),
    agents: z.object({ limit: count.nullable() }),
  })
  .meta({ id: 'RateUsage' });

const overrides = { tag: 'rate limits', needs: ['rateOverrides'] } as const;

const usage = { tag: 'rate limits', needs: ['rateUsage'], answer: UsageAnswer } as const;

const path = '/v1/admin/rate-limits/overrides';

/** Operations on the rate limits that were set at run time, and on callers' use of their limits (H27). */
export const RATE_LIMIT_OPERATIONS = [
  operation({
    ...overrides,
    name: 'rate_limits.list_overrides',
    summary: 'List rates that were set for users and tenants at run time',
    access: 'inspect',
    input: { query: OverridesQuery },
    answer: OverrideListAnswer,
    rest: { method: 'GET', path, style: 'coded' },
    commands: ['limits override list'],
    async handle({ rateOverrides }, { query: { tenant, subject, ...page } }) {
      const { items, ...next } = await rateOverrides.list({ tenant, subject }, pageAsked(page, MOST_OVERRIDES_LISTED));
      return { overrides: items, ...next };
    },
  }),
  operation({
    ...overrides,
    name: 'rate_limits.put_override',
    summary: 'Set the rates of a user or a tenant, on every node within 2 s',
    description:
      'Replaces the earlier override. Rates of a user win over those of its tenant, and these over those of its tier.',
    access: 'operate',
    input: { body: OverrideBody },
    answer: OverrideAnswer,
    rest: { method: 'PUT', path, style: 'coded', also: [409] },
    commands: ['limits override set'],
    handle: ({ rateOverrides }, { identity, body: { tenant, subject, rates } }) =>
      rateOverrides.put(identity, { tenant, subject }, rates),
  }),
  operation({
    ...overrides,
    name: 'rate_limits.remove_override',
    summary: 'Remove the rates that were set for a user or a tenant',
    access: 'operate',
    input: { query: OverrideTargetQuery },
    answer: OverrideRemovedAnswer,
    rest: { method: 'DELETE', path, style: 'coded', also: [404] },
    commands: ['limits override remove'],
    async handle({ rateOverrides }, { identity, query: { tenant, subject } }) {
      await rateOverrides.remove(identity, { tenant, subject });
      return { tenant, subject: subject ?? null, deleted: true as const };
    },
  }),
  operation({
    ...usage,
    name: 'rate_limits.own_usage',
    summary: 'Show how much the caller used of its rate limits',
    access: 'read',
    input: {},
    rest: { method: 'GET', path: '/v1/user/rate-limits/usage', style: 'coded' },
    commands: ['limits usage'],
    handle: ({ rateUsage }, { identity }) => rateUsage.of(identity),
  }),
  operation({
    ...usage,
    name: 'rate_limits.usage',
    summary: 'Show how much a user used of its rate limits',
    access: 'inspect',
    input: { query: UsageQuery },
    rest: { method: 'GET', path: '/v1/admin/rate-limits/usage', style: 'coded' },
    commands: ['limits usage'],
    handle: ({ rateUsage }, { query }) => rateUsage.of(query),
  }),
];

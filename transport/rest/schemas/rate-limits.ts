import { z } from 'zod';
import { Rates } from '../../../manifests/node/rate-limits.ts';
import { nextPageField, pageFields } from './fields.ts';

export const MOST_OVERRIDES_LISTED = 1_000;

const tenant = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'tenant: expected a tenant slug')
  .describe('Tenant slug.');
const subject = z.string().min(1).max(256).describe('Subject of the user’s token.');

export const OverrideTargetQuery = z.object({
  tenant,
  subject: subject.optional().describe('Without it the rates are those of each user of the tenant.'),
});

export const OverridesQuery = z.object({
  tenant: tenant.optional(),
  subject: subject.optional(),
  ...pageFields(100, MOST_OVERRIDES_LISTED),
});

export const OverrideBody = z.strictObject({
  tenant,
  subject: subject.optional().describe('Without it the rates are those of each user of the tenant.'),
  rates: Rates.describe(
    'As a block of `spec.rate_limits.users`; what is not said stays as it is, null takes a bound away.',
  ),
});

export const OverrideAnswer = z.object({
  tenant: z.string(),
  subject: z.string().nullable(),
  rates: Rates,
  updated_at: z.string(),
  updated_by: z.string(),
});
export const OverrideListAnswer = z.object({ overrides: z.array(OverrideAnswer), ...nextPageField });
export const OverrideRemovedAnswer = z.object({
  tenant: z.string(),
  subject: z.string().nullable(),
  deleted: z.literal(true),
});

const KINDS = ['tenant_user', 'consumer', 'service_account', 'operator', 'local'] as const;

export const UsageQuery = z.object({
  tenant,
  subject,
  tier: z
    .enum(['free', 'pro', 'business', 'enterprise'])
    .default('free')
    .describe('Of the user’s token: whose bounds to show.'),
  kind: z.enum(KINDS).default('tenant_user').describe('What the caller is.'),
});

const count = z.number().int();

export const UsageAnswer = z.object({
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
    .describe('One for each bound there is.'),
  concurrent_executions: z.object({ used: count, limit: count.nullable() }),
  agents: z.object({ limit: count.nullable() }),
});

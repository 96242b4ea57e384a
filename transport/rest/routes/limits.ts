import { z } from 'zod';
import { Rates } from '../../../manifests/node/rate-limits.ts';
import type { RateOverrides, RateUsage } from '../../../security/api.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { CallerHeaders, nextPageField, pageAsked, pageFields } from '../../../usecases/operations/schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';

/** /v1/admin/rate-limits and /v1/user/rate-limits, on nodes that count. */
export function limitRoutes(app: RestApp, { rateOverrides, rateUsage }: RestParts): void {
  if (rateOverrides !== undefined) {
    for (const route of [listOverridesRoute, putOverrideRoute, removeOverrideRoute]) route(app, rateOverrides);
  }
  if (rateUsage === undefined) return;
  ownUsageRoute(app, rateUsage);
  usageRoute(app, rateUsage);
}

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

const OverrideBody = z.strictObject({
  tenant,
  subject: subject.optional().describe('Without it the rates are those of each user of the tenant.'),
  rates: Rates.describe(
    'As a block of `spec.rate_limits.users`; what is not said stays as it is, null takes a bound away.',
  ),
});

const OverrideAnswer = z.object({
  tenant: z.string(),
  subject: z.string().nullable(),
  rates: Rates,
  updated_at: z.string(),
  updated_by: z.string(),
});

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
  tier: z
    .enum(['free', 'pro', 'business', 'enterprise'])
    .default('free')
    .describe('Of the user’s token: whose bounds to show.'),
  kind: z.enum(KINDS).default('tenant_user').describe('What the caller is.'),
});

const count = z.number().int();

const UsageAnswer = z.object({
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

const listOverridesSchema = {
  tags: ['rate limits'],
  summary: 'List rates that were set for users and tenants at run time',
  headers: CallerHeaders,
  querystring: OverridesQuery,
  response: { 200: OverrideListAnswer, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/admin/rate-limits/overrides. */
function listOverridesRoute(app: RestApp, overrides: RateOverrides): void {
  app.get(
    '/v1/admin/rate-limits/overrides',
    { config: { access: 'inspect' }, schema: listOverridesSchema },
    async (request) => {
      const { tenant, subject, ...page } = request.query;
      const of = { ...(tenant === undefined ? {} : { tenant }), ...(subject === undefined ? {} : { subject }) };
      const { items, ...next } = await overrides.list(of, pageAsked(page, MOST_OVERRIDES_LISTED));
      return { overrides: items, ...next };
    },
  );
}

const putOverrideSchema = {
  tags: ['rate limits'],
  summary: 'Set the rates of a user or a tenant, on every node within 2 s',
  description:
    'Instead of what was set for it before. A user’s rates count before its tenant’s, those before its tier’s.',
  headers: CallerHeaders,
  body: OverrideBody,
  response: { 200: OverrideAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [409] }) },
};

/** PUT /v1/admin/rate-limits/overrides. */
function putOverrideRoute(app: RestApp, overrides: RateOverrides): void {
  app.put(
    '/v1/admin/rate-limits/overrides',
    { config: { access: 'operate' }, schema: putOverrideSchema },
    async (request) => {
      const { tenant, subject, rates } = request.body;
      return overrides.put(callerOf(request), { tenant, ...(subject === undefined ? {} : { subject }) }, rates);
    },
  );
}

const removeOverrideSchema = {
  tags: ['rate limits'],
  summary: 'Take back the rates that were set for a user or a tenant',
  headers: CallerHeaders,
  querystring: OverrideTargetQuery,
  response: { 200: OverrideRemovedAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404] }) },
};

/** DELETE /v1/admin/rate-limits/overrides?tenant=…&subject=…. */
function removeOverrideRoute(app: RestApp, overrides: RateOverrides): void {
  app.delete(
    '/v1/admin/rate-limits/overrides',
    { config: { access: 'operate' }, schema: removeOverrideSchema },
    async (request) => {
      const { tenant, subject } = request.query;
      await overrides.remove(callerOf(request), { tenant, ...(subject === undefined ? {} : { subject }) });
      return { tenant, subject: subject ?? null, deleted: true as const };
    },
  );
}

const answers = { 200: UsageAnswer, ...problemSchemas({ style: 'coded' }) };

const tags = ['rate limits'];

const own = { tags, summary: 'What the caller used of its rate limits', headers: CallerHeaders, response: answers };

const anybodys = {
  ...{ tags, headers: CallerHeaders, querystring: UsageQuery, response: answers },
  summary: 'What a user used of its rate limits',
};

/** GET /v1/user/rate-limits/usage. */
function ownUsageRoute(app: RestApp, usage: RateUsage): void {
  app.get('/v1/user/rate-limits/usage', { config: { access: 'read' }, schema: own }, async (request) =>
    usage.of(callerOf(request)),
  );
}

/** GET /v1/admin/rate-limits/usage?tenant=…&subject=…. */
function usageRoute(app: RestApp, usage: RateUsage): void {
  app.get('/v1/admin/rate-limits/usage', { config: { access: 'inspect' }, schema: anybodys }, async (request) =>
    usage.of(request.query),
  );
}

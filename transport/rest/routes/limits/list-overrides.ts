import type { RateOverrides } from '../../../../security/api.ts';
import type { RestApp } from '../../parts.ts';
import { CallerHeaders, pageAsked } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { MOST_OVERRIDES_LISTED, OverrideListAnswer, OverridesQuery } from '../../schemas/rate-limits.ts';

const schema = {
  tags: ['rate limits'],
  summary: 'List rates that were set for users and tenants at run time',
  headers: CallerHeaders,
  querystring: OverridesQuery,
  response: { 200: OverrideListAnswer, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/admin/rate-limits/overrides. */
export function listOverridesRoute(app: RestApp, overrides: RateOverrides): void {
  app.get('/v1/admin/rate-limits/overrides', { config: { access: 'inspect' }, schema }, async (request) => {
    const { tenant, subject, ...page } = request.query;
    const of = { ...(tenant === undefined ? {} : { tenant }), ...(subject === undefined ? {} : { subject }) };
    const { items, ...next } = await overrides.list(of, pageAsked(page, MOST_OVERRIDES_LISTED));
    return { overrides: items, ...next };
  });
}

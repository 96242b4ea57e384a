import type { RateOverrides } from '../../../../security/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { OverrideRemovedAnswer, OverrideTargetQuery } from '../../schemas/rate-limits.ts';

const schema = {
  tags: ['rate limits'],
  summary: 'Take back the rates that were set for a user or a tenant',
  headers: CallerHeaders,
  querystring: OverrideTargetQuery,
  response: { 200: OverrideRemovedAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404] }) },
};

/** DELETE /v1/admin/rate-limits/overrides?tenant=…&subject=…. */
export function removeOverrideRoute(app: RestApp, overrides: RateOverrides): void {
  app.delete('/v1/admin/rate-limits/overrides', { config: { access: 'operate' }, schema }, async (request) => {
    const { tenant, subject } = request.query;
    await overrides.remove(callerOf(request), { tenant, ...(subject === undefined ? {} : { subject }) });
    return { tenant, subject: subject ?? null, deleted: true as const };
  });
}

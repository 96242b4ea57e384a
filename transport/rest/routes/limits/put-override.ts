import type { RateOverrides } from '../../../../security/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { OverrideAnswer, OverrideBody } from '../../schemas/rate-limits.ts';

const schema = {
  tags: ['rate limits'],
  summary: 'Set the rates of a user or a tenant, on every node within 2 s',
  description:
    'Instead of what was set for it before. A user’s rates count before its tenant’s, those before its tier’s.',
  headers: CallerHeaders,
  body: OverrideBody,
  response: { 200: OverrideAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [409] }) },
};

/** PUT /v1/admin/rate-limits/overrides. */
export function putOverrideRoute(app: RestApp, overrides: RateOverrides): void {
  app.put('/v1/admin/rate-limits/overrides', { config: { access: 'operate' }, schema }, async (request) => {
    const { tenant, subject, rates } = request.body;
    return overrides.put(callerOf(request), { tenant, ...(subject === undefined ? {} : { subject }) }, rates);
  });
}

import type { RateUsage } from '../../../../security/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { UsageAnswer, UsageQuery } from '../../schemas/rate-limits.ts';

const answers = { 200: UsageAnswer, ...problemSchemas({ style: 'coded' }) };
const tags = ['rate limits'];

const own = { tags, summary: 'What the caller used of its rate limits', headers: CallerHeaders, response: answers };
const anybodys = {
  ...{ tags, headers: CallerHeaders, querystring: UsageQuery, response: answers },
  summary: 'What a user used of its rate limits',
};

/** GET /v1/user/rate-limits/usage. */
export function ownUsageRoute(app: RestApp, usage: RateUsage): void {
  app.get('/v1/user/rate-limits/usage', { config: { access: 'read' }, schema: own }, async (request) =>
    usage.of(callerOf(request)),
  );
}

/** GET /v1/admin/rate-limits/usage?tenant=…&subject=…. */
export function usageRoute(app: RestApp, usage: RateUsage): void {
  app.get('/v1/admin/rate-limits/usage', { config: { access: 'inspect' }, schema: anybodys }, async (request) =>
    usage.of(request.query),
  );
}

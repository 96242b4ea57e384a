import type { Patterns } from '../../../../catalog/patterns-api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders, pageAsked } from '../../schemas/fields.ts';
import { MemoryPatternList, MOST_PATTERNS, PatternsQuery } from '../../schemas/patterns.ts';
import { problemSchemas } from '../../schemas/problems.ts';

const schema = {
  tags: ['cortex'],
  summary: 'Find or list learned patterns',
  description: 'With error_signature what solved errors like it, best first; without it all, strongest first.',
  headers: CallerHeaders,
  querystring: PatternsQuery,
  response: { 200: MemoryPatternList, ...problemSchemas({ style: 'coded', also: [409] }) },
};

/** GET /v1/cortex/patterns. */
export function listPatternsRoute(app: RestApp, patterns: Patterns): void {
  app.get('/v1/cortex/patterns', { config: { access: 'read' }, schema }, async (request) => {
    const { tenant } = callerOf(request);
    const { error_signature, error_type, min_success_score, ...asked } = request.query;
    const page = pageAsked(asked, MOST_PATTERNS);
    const ofType = error_type === undefined ? {} : { errorType: error_type };
    if (error_signature === undefined) {
      const { items, ...next } = await patterns.list(tenant, { ...ofType, ...page });
      return { patterns: items, ...next };
    }
    const least = min_success_score === undefined ? {} : { minSuccessScore: min_success_score };
    const { limit } = page;
    const found = await patterns.query(tenant, { errorSignature: error_signature, ...ofType, ...least, limit });
    return { patterns: [...found] };
  });
}

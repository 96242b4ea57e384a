import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';
import { resultsOf, SearchQuery, SearchResults, searchOf } from '../schemas/search.ts';

const schema = {
  tags: ['agents'],
  summary: 'Search agents',
  description: 'Agents the caller sees, by what they do; best first.',
  headers: CallerHeaders,
  querystring: SearchQuery,
  response: { 200: SearchResults, ...problemSchemas({ style: 'plain', also: [409] }) },
};

/** GET /v1/agents/search. */
export function searchAgentsRoute(app: RestApp, { search }: RestParts): void {
  if (search === undefined) return;
  app.get('/v1/agents/search', { config: agentRoute('read'), schema }, async (request) => {
    const { tenant, subject } = callerOf(request);
    return resultsOf(request.query.q, await search.agents({ tenant, subject }, searchOf(request.query)));
  });
}

import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { resultsOf, SearchQuery, SearchResults, searchOf } from '../../schemas/search.ts';
import { readerOf, type WorkflowRouteParts, workflowRoute } from './parts.ts';

const schema = {
  tags: ['workflows'],
  summary: 'Search workflows',
  description: 'Workflows the caller sees, by what they do; best first.',
  headers: CallerHeaders,
  querystring: SearchQuery,
  response: { 200: SearchResults, ...problemSchemas({ style: 'coded', also: [409] }) },
};

/** GET /v1/workflows/search. */
export function searchWorkflowsRoute(app: RestApp, { search }: WorkflowRouteParts): void {
  if (search === undefined) return;
  app.get('/v1/workflows/search', { config: workflowRoute('read'), schema }, async (request) => {
    const reader = readerOf(callerOf(request));
    return resultsOf(request.query.q, await search.workflows(reader, searchOf(request.query)));
  });
}

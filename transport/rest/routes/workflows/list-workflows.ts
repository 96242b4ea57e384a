import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { ListQuery, listFilter } from '../../schemas/catalog.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { WorkflowList } from '../../schemas/workflows.ts';
import { type WorkflowRouteParts, workflowRoute } from './parts.ts';

const schema = {
  tags: ['workflows'],
  summary: 'List workflows',
  description: 'The newest version of each workflow, by name.',
  headers: CallerHeaders,
  querystring: ListQuery,
  response: { 200: WorkflowList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/workflows. */
export function listWorkflowsRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.get('/v1/workflows', { config: workflowRoute('read'), schema }, async (request) => {
    const { items, ...next } = await catalog.list(callerOf(request), listFilter(request.query));
    return { workflows: items, ...next };
  });
}

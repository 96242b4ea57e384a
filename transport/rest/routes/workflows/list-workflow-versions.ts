import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { WorkflowParams, WorkflowVersions } from '../../schemas/workflows.ts';
import { readerOf, type WorkflowRouteParts, workflowRoute } from './parts.ts';

const schema = {
  tags: ['workflows'],
  summary: 'List the versions of a workflow',
  headers: CallerHeaders,
  params: WorkflowParams,
  response: { 200: WorkflowVersions, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/workflows/{name}/versions. */
export function listWorkflowVersionsRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.get('/v1/workflows/:name/versions', { config: workflowRoute('read'), schema }, async (request) => ({
    versions: await catalog.versions(readerOf(callerOf(request)), request.params.name),
  }));
}

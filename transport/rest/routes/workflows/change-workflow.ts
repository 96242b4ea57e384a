import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { StatusBody } from '../../schemas/catalog.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { WorkflowParams, WorkflowSummary } from '../../schemas/workflows.ts';
import { type WorkflowRouteParts, workflowRoute } from './parts.ts';

const schema = {
  tags: ['workflows'],
  summary: 'Pause or archive a workflow, or put it back into service',
  description: 'Executions that run go on. Versions that are deployed later keep the status.',
  headers: CallerHeaders,
  params: WorkflowParams,
  body: StatusBody,
  response: { 200: WorkflowSummary, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** PATCH /v1/workflows/{name}. */
export function changeWorkflowRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.patch('/v1/workflows/:name', { config: workflowRoute('write'), schema }, async (request) =>
    catalog.setStatus(callerOf(request), request.params.name, request.body.status),
  );
}

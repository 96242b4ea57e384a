import { z } from 'zod';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { DeployedWorkflow, WorkflowParams } from '../../schemas/workflows.ts';
import { readerOf, type WorkflowRouteParts, workflowRoute } from './parts.ts';

const schema = {
  tags: ['workflows'],
  summary: 'Show a workflow with its manifest',
  headers: CallerHeaders,
  params: WorkflowParams,
  querystring: z.object({ version: z.string().min(1).max(64).optional().describe('Default the newest.') }),
  response: { 200: DeployedWorkflow, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/workflows/{name}. */
export function getWorkflowRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.get('/v1/workflows/:name', { config: workflowRoute('read'), schema }, async (request) =>
    catalog.get(readerOf(callerOf(request)), request.params.name, request.query.version),
  );
}

import { z } from 'zod';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders, limitField, skipField } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { WorkflowExecutionParams, WorkflowLog } from '../../schemas/workflows.ts';
import { type WorkflowRouteParts, workflowExecutionRoute } from './parts.ts';

const MOST = 200;

const schema = {
  tags: ['workflows'],
  summary: 'Page through the log of a workflow execution, oldest first',
  headers: CallerHeaders,
  params: WorkflowExecutionParams,
  querystring: z.object({ limit: limitField(50, MOST), offset: skipField }),
  response: { 200: WorkflowLog, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/workflows/executions/{id}/logs: svc.workflow.logs (spec 3). */
export function listWorkflowLogsRoute(app: RestApp, { workflows }: WorkflowRouteParts): void {
  app.get('/v1/workflows/executions/:id/logs', { config: workflowExecutionRoute('read'), schema }, async (request) => {
    const executionId = request.params.id.toLowerCase();
    const page = { limit: Math.min(request.query.limit, MOST), offset: request.query.offset };
    const { status, events, total } = await workflows.logs(callerOf(request), executionId, page);
    return { execution_id: executionId, status, events, total, ...page };
  });
}

import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { WorkflowExecution, WorkflowExecutionParams } from '../../schemas/workflows.ts';
import { type WorkflowRouteParts, workflowExecutionRoute } from './parts.ts';

const schema = {
  tags: ['workflows'],
  summary: 'Show a workflow execution, and what it waits for',
  headers: CallerHeaders,
  params: WorkflowExecutionParams,
  response: { 200: WorkflowExecution, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/workflows/executions/{id}: svc.workflow.executions.get (spec 3). */
export function getWorkflowExecutionRoute(app: RestApp, { workflows }: WorkflowRouteParts): void {
  app.get('/v1/workflows/executions/:id', { config: workflowExecutionRoute('read'), schema }, async (request) =>
    workflows.get(callerOf(request), request.params.id.toLowerCase()),
  );
}

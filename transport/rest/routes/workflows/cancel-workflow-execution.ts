import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CancelAnswer } from '../../schemas/executions.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { WorkflowExecutionParams } from '../../schemas/workflows.ts';
import { type WorkflowRouteParts, workflowExecutionRoute } from './parts.ts';

const schema = {
  tags: ['workflows'],
  summary: 'Cancel a workflow execution with its children',
  headers: CallerHeaders,
  params: WorkflowExecutionParams,
  response: { 200: CancelAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/workflows/executions/{id}/cancel. One that has ended is 409. */
export function cancelWorkflowExecutionRoute(app: RestApp, { workflows }: WorkflowRouteParts): void {
  app.post(
    '/v1/workflows/executions/:id/cancel',
    { config: workflowExecutionRoute('run'), schema },
    async (request) => {
      const executionId = request.params.id.toLowerCase();
      await workflows.cancel(callerOf(request), executionId, { trace: request.trace });
      return { execution_id: executionId, cancelled: true as const };
    },
  );
}

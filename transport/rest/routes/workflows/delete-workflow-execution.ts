import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { RemoveAnswer } from '../../schemas/executions.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { WorkflowExecutionParams } from '../../schemas/workflows.ts';
import { type WorkflowRouteParts, workflowExecutionRoute } from './parts.ts';

const schema = {
  tags: ['workflows'],
  summary: 'Remove a workflow execution that has ended',
  headers: CallerHeaders,
  params: WorkflowExecutionParams,
  response: { 200: RemoveAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** DELETE /v1/workflows/executions/{id}. While it runs it is 409. */
export function deleteWorkflowExecutionRoute(app: RestApp, { workflows }: WorkflowRouteParts): void {
  app.delete('/v1/workflows/executions/:id', { config: workflowExecutionRoute('write'), schema }, async (request) => {
    const executionId = request.params.id.toLowerCase();
    await workflows.remove(callerOf(request), executionId);
    return { execution_id: executionId, removed: true as const };
  });
}

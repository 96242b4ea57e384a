import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { SignalAnswer, SignalBody, WorkflowExecutionParams } from '../../schemas/workflows.ts';
import { type WorkflowRouteParts, workflowExecutionRoute } from './parts.ts';

const schema = {
  tags: ['workflows'],
  summary: 'Answer the approval a workflow execution waits for',
  headers: CallerHeaders,
  params: WorkflowExecutionParams,
  body: SignalBody,
  response: { 200: SignalAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/workflows/executions/{id}/signal. One that waits for nobody is 409 (decided.md "Workflows"). */
export function signalWorkflowRoute(app: RestApp, { workflows }: WorkflowRouteParts): void {
  app.post(
    '/v1/workflows/executions/:id/signal',
    { config: workflowExecutionRoute('run'), schema },
    async (request) => {
      const executionId = request.params.id.toLowerCase();
      await workflows.signal(callerOf(request), executionId, request.body.response, { trace: request.trace });
      return { signalled: true as const, execution_id: executionId };
    },
  );
}

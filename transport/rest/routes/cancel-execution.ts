import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { CancelAnswer } from '../schemas/executions.ts';
import { CallerHeaders, ExecutionIdParams } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { executionRoute } from '../schemas/route-config.ts';

const schema = {
  tags: ['executions'],
  summary: 'Cancel a running execution',
  headers: CallerHeaders,
  params: ExecutionIdParams,
  response: { 200: CancelAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/executions/{id}/cancel. An execution that has ended is 409. */
export function cancelExecutionRoute(app: RestApp, { executions }: RestParts): void {
  app.post('/v1/executions/:id/cancel', { config: executionRoute('run'), schema }, async (request) => {
    const identity = callerOf(request);
    const executionId = request.params.id.toLowerCase();
    await executions.cancel(identity, executionId, { identity, trace: request.trace });
    return { execution_id: executionId, cancelled: true as const };
  });
}

import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { RemoveAnswer } from '../schemas/executions.ts';
import { CallerHeaders, ExecutionIdParams } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { executionRoute } from '../schemas/route-config.ts';

const schema = {
  tags: ['executions'],
  summary: 'Remove an execution that has ended',
  headers: CallerHeaders,
  params: ExecutionIdParams,
  response: { 200: RemoveAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409] }) },
};

/** DELETE /v1/executions/{id}. While it runs it is 409. */
export function deleteExecutionRoute(app: RestApp, { executions }: RestParts): void {
  app.delete('/v1/executions/:id', { config: executionRoute('write'), schema }, async (request) => {
    const executionId = request.params.id.toLowerCase();
    await executions.remove(callerOf(request), executionId);
    return { execution_id: executionId, removed: true as const };
  });
}

import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { ExecutionStatus } from '../schemas/executions.ts';
import { CallerHeaders, ExecutionIdParams } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { executionRoute } from '../schemas/route-config.ts';

const schema = {
  tags: ['executions'],
  summary: 'Show the state of an execution',
  headers: CallerHeaders,
  params: ExecutionIdParams,
  response: { 200: ExecutionStatus, ...problemSchemas({ style: 'plain', also: [404] }) },
};

/** GET /v1/executions/{id}: the result of svc.task.status (spec 3). */
export function getExecutionRoute(app: RestApp, { executions }: RestParts): void {
  app.get('/v1/executions/:id', { config: executionRoute('read'), schema }, async (request) =>
    executions.status(callerOf(request), request.params.id.toLowerCase()),
  );
}

import { z } from 'zod';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { ExecutionLog } from '../schemas/executions.ts';
import { CallerHeaders, ExecutionIdParams, limitField, skipField } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { executionRoute } from '../schemas/route-config.ts';

const MOST = 200;

const schema = {
  tags: ['executions'],
  summary: 'Page through the log of an execution, oldest first',
  headers: CallerHeaders,
  params: ExecutionIdParams,
  querystring: z.object({ limit: limitField(50, MOST), offset: skipField }),
  response: { 200: ExecutionLog, ...problemSchemas({ style: 'plain', also: [404] }) },
};

/** GET /v1/executions/{id}/events: the result of svc.task.logs (spec 3). */
export function listExecutionEventsRoute(app: RestApp, { executions }: RestParts): void {
  app.get('/v1/executions/:id/events', { config: executionRoute('read'), schema }, async (request) => {
    const executionId = request.params.id.toLowerCase();
    const page = { limit: Math.min(request.query.limit, MOST), offset: request.query.offset };
    const { status, events, total } = await executions.logs(callerOf(request), executionId, page);
    return { execution_id: executionId, status, events: events.map((event) => ({ ...event })), total, ...page };
  });
}

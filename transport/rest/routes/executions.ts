import type { Identity } from '../../../runtime/identity.ts';
import type { ExecutionApi } from '../../../usecases/executions.ts';
import { ExecutionIdParams } from '../../../usecases/operations/schemas/fields.ts';
import {
  afterOf,
  type EventSource,
  STREAM_DESCRIPTION,
  serveEvents,
  streamOptions,
  streamSchema,
} from '../event-route.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { StreamedExecutionEvent } from '../schemas/events.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { executionRoute } from '../schemas/route-config.ts';

const stream = streamSchema(StreamedExecutionEvent);

const streamExecutionSchema = {
  ...stream,
  operationId: 'executions.stream',
  tags: ['executions'],
  summary: 'Follow an execution live',
  description: STREAM_DESCRIPTION,
  params: ExecutionIdParams,
  response: { ...stream.response, ...problemSchemas({ style: 'plain', also: [404, 406] }) },
};

const sourceOf = (executions: ExecutionApi, viewer: Identity, id: string): EventSource => ({
  async hasEnded() {
    const { status } = await executions.status(viewer, id);
    return status !== 'pending' && status !== 'running';
  },
  events: (after, limit) => executions.events(viewer, id, after, limit),
  follow: (after, options) => executions.follow(viewer, id, after, options),
});

/** GET /v1/executions/{id}/stream (H12, R1). */
export function streamExecutionRoute(app: RestApp, parts: RestParts): void {
  const options = { config: executionRoute('read'), schema: streamExecutionSchema, ...streamOptions('plain') };
  app.get('/v1/executions/:id/stream', options, async (request, reply) => {
    const source = sourceOf(parts.executions, callerOf(request), request.params.id.toLowerCase());
    const after = afterOf(request.headers['last-event-id'], request.query.last_event_id);
    return serveEvents(parts, request, reply, { source, after });
  });
}

import { z } from 'zod';
import type { ExecutionApi } from '../../../actors/execution/api.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { writeEvents } from '../event-stream.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { problemBody } from '../problem.ts';
import { callerOf } from '../request-context.ts';
import { StreamedEvent } from '../schemas/executions.ts';
import { CallerHeaders, ExecutionIdParams } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { executionRoute } from '../schemas/route-config.ts';

/** At most 15 digits: every such number is exact in JavaScript. An empty value is none. */
const EventNumber = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,14})?$/, 'must be the number of an event')
  .optional();

const schema = {
  tags: ['executions'],
  summary: 'Follow an execution live',
  description:
    'Server-sent events: each record is unnamed, its `id` is the number of the event, its data one JSON object whose ' +
    'one key names the event. Ends after the last event; asked for at the last event of an ended execution it answers ' +
    '204, so that an EventSource stops.',
  headers: CallerHeaders.extend({ 'last-event-id': EventNumber.describe('Goes on behind this event.') }),
  params: ExecutionIdParams,
  querystring: z.object({ last_event_id: EventNumber.describe('The same for clients that cannot set headers.') }),
  response: {
    200: { description: 'The stream.', content: { 'text/event-stream': { schema: StreamedEvent } } },
    204: z.undefined().describe('The execution has ended and all its events were seen.'),
    ...problemSchemas({ style: 'plain', also: [404, 406] }),
  },
};

/** Throws `not_found`, or `invalid_argument` for a number beyond the events there are. */
async function nothingLeft(executions: ExecutionApi, tenant: string, id: string, after: number): Promise<boolean> {
  const { status } = await executions.status(tenant, id);
  const ended = status !== 'pending' && status !== 'running';
  if (ended) return (await executions.events(tenant, id, after, 1)).length === 0;
  // Going on behind an event that was never sent would leave out the ones before it, silently.
  if (after > 0 && (await executions.events(tenant, id, after - 1, 1)).length === 0) {
    throw new SvcError('invalid_argument', 'Last-Event-ID: this execution has no event with that number yet');
  }
  return false;
}

/** GET /v1/executions/{id}/stream (spec 2; design R1). */
export function streamExecutionRoute(app: RestApp, { executions, streams, limits }: RestParts): void {
  app.get(
    '/v1/executions/:id/stream',
    {
      config: executionRoute('read'),
      schema,
      exposeHeadRoute: false,
      // `only` takes curl's `Accept: */*` too. Heartbeats come from the source, so they wait for a slow client as well.
      sse: { kind: 'only', heartbeat: false },
      preSerialization: async (_request, reply, payload) =>
        reply.statusCode === 406 ? problemBody(new SvcError('not_acceptable'), 'plain') : payload,
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const id = request.params.id.toLowerCase();
      const after = Number(request.headers['last-event-id'] || request.query.last_event_id || 0);
      if (await nothingLeft(executions, tenant, id, after)) return reply.code(204).send();
      using stream = streams.open();
      reply.sse.sendHeaders();
      const events = executions.follow(tenant, id, after, { signal: stream.signal, heartbeatMs: limits.heartbeatMs });
      try {
        await writeEvents(events, reply.raw, stream, limits);
      } catch (error) {
        // The answer has begun, so the client can only be told to come back, which it was.
        request.log.warn({ err: error, trace: request.trace }, 'event stream broke off');
      }
      return undefined;
    },
  );
}

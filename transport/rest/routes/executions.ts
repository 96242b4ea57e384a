import { z } from 'zod';
import type { Identity } from '../../../runtime/identity.ts';
import type { ExecutionApi } from '../../../usecases/executions.ts';
import { startExecution } from '../../../usecases/starts/start-execution.ts';
import { IdempotencyKey } from '../../../usecases/starts/start-keys.ts';
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
import {
  CancelAnswer,
  EXECUTION_STATUSES,
  ExecutionList,
  ExecutionLog,
  ExecutionStatus,
  RemoveAnswer,
  StartAnswer,
  StartBody,
} from '../../../usecases/operations/schemas/executions.ts';
import {
  AgentId,
  CallerHeaders,
  ExecutionIdParams,
  limitField,
  pageAsked,
  pageFields,
  skipField,
} from '../../../usecases/operations/schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute, executionRoute } from '../schemas/route-config.ts';

const startExecutionSchema = {
  tags: ['executions'],
  summary: 'Start an execution',
  description: 'Answers as soon as the start is durable; follow it at /v1/executions/{id}/stream.',
  headers: CallerHeaders.extend({ 'idempotency-key': IdempotencyKey.optional() }),
  body: StartBody,
  response: { 200: StartAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409, 422] }) },
};

const config = { ...agentRoute('run'), texts: { notFound: 'agent not found', bug: 'execution failed to start' } };

/** POST /v1/executions (H12). */
export function startExecutionRoute(app: RestApp, parts: RestParts): void {
  app.post('/v1/executions', { config, schema: startExecutionSchema }, async (request) => {
    const { agent_id, input, version, context } = request.body;
    const key = request.headers['idempotency-key'];
    const call = {
      agent: agent_id.toLowerCase(),
      input,
      ...(version === undefined ? {} : { version }),
      ...(context === undefined ? {} : { context }),
    };
    return startExecution(parts, call, {
      identity: callerOf(request),
      trace: request.trace,
      ...(key === undefined ? {} : { idempotencyKey: key }),
    });
  });
}

const getExecutionSchema = {
  tags: ['executions'],
  summary: 'Show the state of an execution',
  headers: CallerHeaders,
  params: ExecutionIdParams,
  response: { 200: ExecutionStatus, ...problemSchemas({ style: 'plain', also: [404] }) },
};

/** GET /v1/executions/{id}: the result of svc.task.status (W36). */
export function getExecutionRoute(app: RestApp, { executions }: RestParts): void {
  app.get('/v1/executions/:id', { config: executionRoute('read'), schema: getExecutionSchema }, async (request) =>
    executions.status(callerOf(request), request.params.id.toLowerCase()),
  );
}

const LIST_EXECUTIONS_MOST = 1_000;

const listExecutionsSchema = {
  tags: ['executions'],
  summary: 'List executions, newest first',
  headers: CallerHeaders,
  querystring: z.object({
    agent_id: AgentId.optional(),
    status: z.enum(EXECUTION_STATUSES).optional(),
    ...pageFields(20, LIST_EXECUTIONS_MOST),
  }),
  response: { 200: ExecutionList, ...problemSchemas({ style: 'plain' }) },
};

/** GET /v1/executions. */
export function listExecutionsRoute(app: RestApp, { executions }: RestParts): void {
  app.get('/v1/executions', { config: executionRoute('read'), schema: listExecutionsSchema }, async (request) => {
    const { agent_id, status, ...page } = request.query;
    const filter = {
      ...pageAsked(page, LIST_EXECUTIONS_MOST),
      ...(agent_id === undefined ? {} : { agentId: agent_id.toLowerCase() }),
      ...(status === undefined ? {} : { status }),
    };
    const { items, ...next } = await executions.list(callerOf(request), filter);
    return { executions: items, ...next };
  });
}

const LIST_EXECUTION_EVENTS_MOST = 200;

const listExecutionEventsSchema = {
  tags: ['executions'],
  summary: 'Page through the log of an execution, oldest first',
  headers: CallerHeaders,
  params: ExecutionIdParams,
  querystring: z.object({ limit: limitField(50, LIST_EXECUTION_EVENTS_MOST), offset: skipField }),
  response: { 200: ExecutionLog, ...problemSchemas({ style: 'plain', also: [404] }) },
};

/** GET /v1/executions/{id}/events: the result of svc.task.logs (W36). */
export function listExecutionEventsRoute(app: RestApp, { executions }: RestParts): void {
  app.get(
    '/v1/executions/:id/events',
    { config: executionRoute('read'), schema: listExecutionEventsSchema },
    async (request) => {
      const executionId = request.params.id.toLowerCase();
      const page = { limit: Math.min(request.query.limit, LIST_EXECUTION_EVENTS_MOST), offset: request.query.offset };
      const { status, events, total } = await executions.logs(callerOf(request), executionId, page);
      return { execution_id: executionId, status, events: events.map((event) => ({ ...event })), total, ...page };
    },
  );
}

const streamExecutionSchema = {
  ...streamSchema,
  tags: ['executions'],
  summary: 'Follow an execution live',
  description: STREAM_DESCRIPTION,
  params: ExecutionIdParams,
  response: { ...streamSchema.response, ...problemSchemas({ style: 'plain', also: [404, 406] }) },
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

const cancelExecutionSchema = {
  tags: ['executions'],
  summary: 'Cancel a running execution',
  headers: CallerHeaders,
  params: ExecutionIdParams,
  response: { 200: CancelAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/executions/{id}/cancel. An execution that has ended is 409. */
export function cancelExecutionRoute(app: RestApp, { executions }: RestParts): void {
  app.post(
    '/v1/executions/:id/cancel',
    { config: executionRoute('run'), schema: cancelExecutionSchema },
    async (request) => {
      const identity = callerOf(request);
      const executionId = request.params.id.toLowerCase();
      await executions.cancel(identity, executionId, { identity, trace: request.trace });
      return { execution_id: executionId, cancelled: true as const };
    },
  );
}

const deleteExecutionSchema = {
  tags: ['executions'],
  summary: 'Remove an execution that has ended',
  headers: CallerHeaders,
  params: ExecutionIdParams,
  response: { 200: RemoveAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409] }) },
};

/** DELETE /v1/executions/{id}. While it runs it is 409. */
export function deleteExecutionRoute(app: RestApp, { executions }: RestParts): void {
  app.delete(
    '/v1/executions/:id',
    { config: executionRoute('write'), schema: deleteExecutionSchema },
    async (request) => {
      const executionId = request.params.id.toLowerCase();
      await executions.remove(callerOf(request), executionId);
      return { execution_id: executionId, removed: true as const };
    },
  );
}

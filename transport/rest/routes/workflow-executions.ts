import { z } from 'zod';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { CancelAnswer, RemoveAnswer } from '../../../usecases/operations/schemas/executions.ts';
import {
  CallerHeaders,
  limitField,
  pageAsked,
  pageTokenField,
  skipField,
} from '../../../usecases/operations/schemas/fields.ts';
import {
  RunAnswer,
  RunBody,
  SignalAnswer,
  SignalBody,
  WORKFLOW_STATUSES,
  WorkflowExecution,
  WorkflowExecutionList,
  WorkflowExecutionParams,
  WorkflowLog,
  WorkflowParams,
} from '../../../usecases/operations/schemas/workflows.ts';
import { IdempotencyKey } from '../../../usecases/starts/start-keys.ts';
import { startWorkflow } from '../../../usecases/starts/start-workflow.ts';
import type { WorkflowApi } from '../../../usecases/workflow-runs.ts';
import {
  afterOf,
  type EventSource,
  STREAM_DESCRIPTION,
  serveEvents,
  streamOptions,
  streamSchema,
} from '../event-route.ts';
import type { RestApp, RestParts, WorkflowParts } from '../parts.ts';
import { type Access, callerOf } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';

const runWorkflowSchema = {
  tags: ['workflows'],
  summary: 'Run a workflow',
  description:
    'Answers as soon as the start is durable; follow it at /v1/workflows/executions/{id}/stream. An input that does not ' +
    'fit `metadata.input_schema` is 422 and creates nothing.',
  headers: CallerHeaders.extend({ 'idempotency-key': IdempotencyKey.optional() }),
  params: WorkflowParams,
  body: RunBody,
  response: { 200: RunAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409, 422] }) },
};

/** POST /v1/workflows/{name}/run: svc.workflow.run (W35). */
export function runWorkflowRoute(app: RestApp, parts: WorkflowRouteParts): void {
  app.post('/v1/workflows/:name/run', { config: workflowRoute('run'), schema: runWorkflowSchema }, async (request) => {
    const { intent, input, blackboard, version } = request.body;
    const key = request.headers['idempotency-key'];
    const call = {
      workflow: request.params.name,
      input,
      ...(intent === undefined ? {} : { intent }),
      ...(blackboard === undefined ? {} : { blackboard }),
      ...(version === undefined ? {} : { version }),
    };
    const { execution_id } = await startWorkflow(parts, call, {
      identity: callerOf(request),
      trace: request.trace,
      ...(key === undefined ? {} : { idempotencyKey: key }),
    });
    return { execution_id, status: 'started' as const };
  });
}

const getWorkflowExecutionSchema = {
  tags: ['workflows'],
  summary: 'Show a workflow execution, and what it waits for',
  headers: CallerHeaders,
  params: WorkflowExecutionParams,
  response: { 200: WorkflowExecution, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/workflows/executions/{id}: svc.workflow.executions.get (W35). */
export function getWorkflowExecutionRoute(app: RestApp, { workflows }: WorkflowRouteParts): void {
  app.get(
    '/v1/workflows/executions/:id',
    { config: workflowExecutionRoute('read'), schema: getWorkflowExecutionSchema },
    async (request) => workflows.get(callerOf(request), request.params.id.toLowerCase()),
  );
}

const LIST_WORKFLOW_EXECUTIONS_MOST = 1_000;

const listWorkflowExecutionsSchema = {
  tags: ['workflows'],
  summary: 'List workflow executions, newest first',
  headers: CallerHeaders,
  querystring: z.object({
    workflow_id: z.string().min(1).max(256).optional().describe('UUID or name of the workflow.'),
    status: z.enum(WORKFLOW_STATUSES).optional(),
    limit: limitField(20, LIST_WORKFLOW_EXECUTIONS_MOST),
    offset: skipField,
    page_token: pageTokenField,
  }),
  response: { 200: WorkflowExecutionList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/workflows/executions: svc.workflow.executions.list (W35). */
export function listWorkflowExecutionsRoute(app: RestApp, parts: WorkflowRouteParts): void {
  app.get(
    '/v1/workflows/executions',
    { config: workflowExecutionRoute('read'), schema: listWorkflowExecutionsSchema },
    async (request) => {
      const { workflow_id, status, limit, offset, page_token } = request.query;
      const caller = callerOf(request);
      const page = pageAsked({ limit, skip: offset, page_token }, LIST_WORKFLOW_EXECUTIONS_MOST);
      const workflowId = workflow_id === undefined ? undefined : await idOf(parts, caller, workflow_id);
      const { items, total, ...next } = await parts.workflows.list(caller, {
        ...page,
        ...(workflowId === undefined ? {} : { workflowId }),
        ...(status === undefined ? {} : { status }),
      });
      return { executions: items, total, limit: page.limit, offset, ...next };
    },
  );
}

/** Executions outlive their workflow, so an id that is not deployed any more still finds them. */
async function idOf({ catalog }: WorkflowRouteParts, caller: Identity, idOrName: string): Promise<string> {
  try {
    return (await catalog.get(readerOf(caller), idOrName)).id;
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'not_found') return idOrName.toLowerCase();
    throw thrown;
  }
}

const LIST_WORKFLOW_LOGS_MOST = 200;

const listWorkflowLogsSchema = {
  tags: ['workflows'],
  summary: 'Page through the log of a workflow execution, oldest first',
  headers: CallerHeaders,
  params: WorkflowExecutionParams,
  querystring: z.object({ limit: limitField(50, LIST_WORKFLOW_LOGS_MOST), offset: skipField }),
  response: { 200: WorkflowLog, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/workflows/executions/{id}/logs: svc.workflow.logs (W35). */
export function listWorkflowLogsRoute(app: RestApp, { workflows }: WorkflowRouteParts): void {
  app.get(
    '/v1/workflows/executions/:id/logs',
    { config: workflowExecutionRoute('read'), schema: listWorkflowLogsSchema },
    async (request) => {
      const executionId = request.params.id.toLowerCase();
      const page = { limit: Math.min(request.query.limit, LIST_WORKFLOW_LOGS_MOST), offset: request.query.offset };
      const { status, events, total } = await workflows.logs(callerOf(request), executionId, page);
      return { execution_id: executionId, status, events, total, ...page };
    },
  );
}

const streamWorkflowSchema = {
  ...streamSchema,
  tags: ['workflows'],
  summary: 'Follow a workflow execution live',
  description: STREAM_DESCRIPTION,
  params: WorkflowExecutionParams,
  response: { ...streamSchema.response, ...problemSchemas({ style: 'coded', also: [404, 406] }) },
};

const sourceOf = (workflows: WorkflowApi, viewer: Identity, id: string): EventSource => ({
  async hasEnded() {
    const { status } = await workflows.status(viewer, id);
    return status !== 'running' && status !== 'waiting_for_human_input';
  },
  events: (after, limit) => workflows.events(viewer, id, after, limit),
  follow: (after, options) => workflows.follow(viewer, id, after, options),
});

/** GET /v1/workflows/executions/{id}/stream, and the same under the original's name, …/logs/stream. */
export function streamWorkflowRoutes(app: RestApp, parts: WorkflowRouteParts): void {
  const options = { config: workflowExecutionRoute('read'), schema: streamWorkflowSchema, ...streamOptions('coded') };
  for (const path of ['stream', 'logs/stream']) {
    app.get(`/v1/workflows/executions/:id/${path}`, options, async (request, reply) => {
      const source = sourceOf(parts.workflows, callerOf(request), request.params.id.toLowerCase());
      const after = afterOf(request.headers['last-event-id'], request.query.last_event_id);
      return serveEvents(parts, request, reply, { source, after });
    });
  }
}

const signalWorkflowSchema = {
  tags: ['workflows'],
  summary: 'Answer the approval a workflow execution waits for',
  headers: CallerHeaders,
  params: WorkflowExecutionParams,
  body: SignalBody,
  response: { 200: SignalAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/workflows/executions/{id}/signal. One that waits for nobody is 409 (H20). */
export function signalWorkflowRoute(app: RestApp, { workflows }: WorkflowRouteParts): void {
  app.post(
    '/v1/workflows/executions/:id/signal',
    { config: workflowExecutionRoute('run'), schema: signalWorkflowSchema },
    async (request) => {
      const executionId = request.params.id.toLowerCase();
      await workflows.signal(callerOf(request), executionId, request.body.response, { trace: request.trace });
      return { signalled: true as const, execution_id: executionId };
    },
  );
}

const cancelWorkflowExecutionSchema = {
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
    { config: workflowExecutionRoute('run'), schema: cancelWorkflowExecutionSchema },
    async (request) => {
      const executionId = request.params.id.toLowerCase();
      await workflows.cancel(callerOf(request), executionId, { trace: request.trace });
      return { execution_id: executionId, cancelled: true as const };
    },
  );
}

const deleteWorkflowExecutionSchema = {
  tags: ['workflows'],
  summary: 'Remove a workflow execution that has ended',
  headers: CallerHeaders,
  params: WorkflowExecutionParams,
  response: { 200: RemoveAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** DELETE /v1/workflows/executions/{id}. While it runs it is 409. */
export function deleteWorkflowExecutionRoute(app: RestApp, { workflows }: WorkflowRouteParts): void {
  app.delete(
    '/v1/workflows/executions/:id',
    { config: workflowExecutionRoute('write'), schema: deleteWorkflowExecutionSchema },
    async (request) => {
      const executionId = request.params.id.toLowerCase();
      await workflows.remove(callerOf(request), executionId);
      return { execution_id: executionId, removed: true as const };
    },
  );
}

/** The parts of a node that has workflows. */
export interface WorkflowRouteParts extends Omit<RestParts, 'workflows'>, WorkflowParts {}

export const workflowRoute = (access: Access) => ({ access, problems: 'coded' }) as const;

const workflowExecutionRoute = (access: Access) =>
  ({ access, problems: 'coded', texts: { notFound: 'workflow execution not found' } }) as const;

export const readerOf = ({ tenant, subject }: Identity) => ({ tenant, subject });

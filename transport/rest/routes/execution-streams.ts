import { z } from 'zod';
import { executionEvents } from '../../../actors/execution/events.ts';
import { workflowEvents } from '../../../actors/workflow/events.ts';
import type { ExecutionApi } from '../../../usecases/executions.ts';
import { ExecutionIdParams } from '../../../usecases/operations/schemas/fields.ts';
import { WorkflowExecutionParams } from '../../../usecases/operations/schemas/workflows.ts';
import type { WorkflowApi } from '../../../usecases/workflow-runs.ts';
import { afterOf, STREAM_DESCRIPTION, serveEvents, streamOptions, streamSchema } from '../event-route.ts';
import type { RestApp, RestParts } from '../parts.ts';
import type { ProblemStyle } from '../problem.ts';
import { callerOf } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';

/** `iteration_output` is the component IterationOutput. */
const componentName = (event: string): string =>
  event
    .split('_')
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('');

/**
 * The data of a stream's records: an object whose one key names the event. The fields of each event are a component of
 * the API description. They are described and not checked: an actor checked them when it made the event.
 */
function eventUnion(events: Readonly<Record<string, z.ZodObject>>, id: string): string {
  const choices = Object.entries(events).map(([name, fields]) =>
    z.object({ [name]: fields.meta({ id: componentName(name) }) }),
  );
  z.union(choices).meta({ id });
  return id;
}

/** One server-sent event, field by field. */
const streamedEvent = (id: string) =>
  z.looseObject({
    id: z.string().describe('Number of the event: 1, 2, 3 …'),
    data: z.string().meta({
      description: 'A JSON object whose one key names the event and whose value holds its fields.',
      contentMediaType: 'application/json',
      contentSchema: { $ref: `#/components/schemas/${id}` },
    }),
  });

/** A record of the stream of an execution (H12). */
const StreamedExecutionEvent = streamedEvent(eventUnion(executionEvents, 'ExecutionEvent'));

/** A record of the stream of a workflow execution (W21). */
const StreamedWorkflowEvent = streamedEvent(eventUnion(workflowEvents, 'WorkflowEvent'));

/** GET /v1/executions/{id}/stream (H12, R1). */
export function streamExecutionRoute(app: RestApp, parts: RestParts): void {
  streamRoute(app, parts, {
    path: '/v1/executions/:id/stream',
    style: 'plain',
    notFound: 'execution not found',
    runs: parts.executions,
    isOpen: (status) => status === 'pending' || status === 'running',
    schema: {
      operationId: 'executions.stream',
      tags: ['executions'],
      summary: 'Follow an execution live',
      params: ExecutionIdParams,
    },
    record: StreamedExecutionEvent,
  });
}

const STREAMS = { 'workflow_executions.stream': 'stream', 'workflow_executions.stream_logs': 'logs/stream' };

/** GET /v1/workflows/executions/{id}/stream and its alias …/logs/stream, on nodes with workflows. */
export function streamWorkflowRoutes(app: RestApp, parts: RestParts): void {
  const { workflows } = parts;
  if (workflows === undefined) return;
  for (const [operationId, path] of Object.entries(STREAMS)) {
    streamRoute(app, parts, {
      path: `/v1/workflows/executions/:id/${path}`,
      style: 'coded',
      notFound: 'workflow execution not found',
      runs: workflows.workflows,
      isOpen: (status) => status === 'running' || status === 'waiting_for_human_input',
      schema: {
        operationId,
        tags: ['workflows'],
        summary: 'Follow a workflow execution live',
        params: WorkflowExecutionParams,
      },
      record: StreamedWorkflowEvent,
    });
  }
}

interface Stream {
  readonly path: string;
  readonly style: ProblemStyle;
  /** Text of the 404 answer. */
  readonly notFound: string;
  readonly runs: Pick<ExecutionApi | WorkflowApi, 'status' | 'events' | 'follow'>;
  isOpen(status: string): boolean;
  readonly schema: {
    readonly operationId: string;
    readonly tags: string[];
    readonly summary: string;
    readonly params: typeof ExecutionIdParams | typeof WorkflowExecutionParams;
  };
  /** Schema of a record of the stream. */
  readonly record: z.ZodObject;
}

function streamRoute(app: RestApp, parts: RestParts, { path, style, notFound, runs, isOpen, ...given }: Stream): void {
  const stream = streamSchema(given.record);
  const schema = {
    ...stream,
    ...given.schema,
    description: STREAM_DESCRIPTION,
    response: { ...stream.response, ...problemSchemas({ style, also: [404, 406] }) },
  };
  const config = { access: 'read', problems: style, texts: { notFound } } as const;
  app.get(path, { config, schema, ...streamOptions(style) }, async (request, reply) => {
    const viewer = callerOf(request);
    const { id } = request.params;
    const source = {
      hasEnded: async () => !isOpen((await runs.status(viewer, id)).status),
      events: (after: number, limit: number) => runs.events(viewer, id, after, limit),
      follow: (after: number, options: Parameters<typeof runs.follow>[3]) => runs.follow(viewer, id, after, options),
    };
    const after = afterOf(request.headers['last-event-id'], request.query.last_event_id);
    return serveEvents(parts, request, reply, { source, after });
  });
}

import type { Identity } from '../../../runtime/identity.ts';
import type { WorkflowParts } from '../../../usecases/operations/operation.ts';
import { WorkflowExecutionParams } from '../../../usecases/operations/schemas/workflows.ts';
import type { WorkflowApi } from '../../../usecases/workflow-runs.ts';
import {
  afterOf,
  type EventSource,
  STREAM_DESCRIPTION,
  serveEvents,
  streamOptions,
  streamSchema,
} from '../event-route.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { type Access, callerOf } from '../request-context.ts';
import { StreamedWorkflowEvent } from '../schemas/events.ts';
import { problemSchemas } from '../schemas/problems.ts';

const stream = streamSchema(StreamedWorkflowEvent);

const streamWorkflowSchema = {
  ...stream,
  tags: ['workflows'],
  summary: 'Follow a workflow execution live',
  description: STREAM_DESCRIPTION,
  params: WorkflowExecutionParams,
  response: { ...stream.response, ...problemSchemas({ style: 'coded', also: [404, 406] }) },
};

const sourceOf = (workflows: WorkflowApi, viewer: Identity, id: string): EventSource => ({
  async hasEnded() {
    const { status } = await workflows.status(viewer, id);
    return status !== 'running' && status !== 'waiting_for_human_input';
  },
  events: (after, limit) => workflows.events(viewer, id, after, limit),
  follow: (after, options) => workflows.follow(viewer, id, after, options),
});

const STREAMS = { 'workflow_executions.stream': 'stream', 'workflow_executions.stream_logs': 'logs/stream' };

/** GET /v1/workflows/executions/{id}/stream and its alias …/logs/stream. */
export function streamWorkflowRoutes(app: RestApp, parts: WorkflowRouteParts): void {
  const config = workflowExecutionRoute('read');
  for (const [operationId, path] of Object.entries(STREAMS)) {
    const options = { config, schema: { ...streamWorkflowSchema, operationId }, ...streamOptions('coded') };
    app.get(`/v1/workflows/executions/:id/${path}`, options, async (request, reply) => {
      const source = sourceOf(parts.workflows, callerOf(request), request.params.id.toLowerCase());
      const after = afterOf(request.headers['last-event-id'], request.query.last_event_id);
      return serveEvents(parts, request, reply, { source, after });
    });
  }
}

/** The parts of a node with workflows. */
export interface WorkflowRouteParts extends Omit<RestParts, 'workflows'>, WorkflowParts {}

export const workflowRoute = (access: Access) => ({ access, problems: 'coded' }) as const;

const workflowExecutionRoute = (access: Access) =>
  ({ access, problems: 'coded', texts: { notFound: 'workflow execution not found' } }) as const;

import type { WorkflowApi } from '../../../../actors/workflow/api.ts';
import type { Identity } from '../../../../runtime/identity.ts';
import {
  afterOf,
  type EventSource,
  STREAM_DESCRIPTION,
  serveEvents,
  streamOptions,
  streamSchema,
} from '../../event-route.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { WorkflowExecutionParams } from '../../schemas/workflows.ts';
import { type WorkflowRouteParts, workflowExecutionRoute } from './parts.ts';

const schema = {
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
  const options = { config: workflowExecutionRoute('read'), schema, ...streamOptions('coded') };
  for (const path of ['stream', 'logs/stream']) {
    app.get(`/v1/workflows/executions/:id/${path}`, options, async (request, reply) => {
      const source = sourceOf(parts.workflows, callerOf(request), request.params.id.toLowerCase());
      const after = afterOf(request.headers['last-event-id'], request.query.last_event_id);
      return serveEvents(parts, request, reply, { source, after });
    });
  }
}

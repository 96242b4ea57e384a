import { z } from 'zod';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { WorkflowParams } from '../../schemas/workflows.ts';
import { readerOf, type WorkflowRouteParts, workflowRoute } from './parts.ts';

const schema = {
  tags: ['workflows'],
  summary: 'Get the manifest of a workflow as it was deployed',
  headers: CallerHeaders,
  params: WorkflowParams,
  querystring: z.object({ version: z.string().min(1).max(64).optional().describe('Default the newest.') }),
  response: {
    200: { description: 'The manifest.', content: { 'application/yaml': { schema: z.unknown() } } },
    ...problemSchemas({ style: 'coded', also: [404] }),
  },
};

/** GET /v1/workflows/{name}/export. */
export function exportWorkflowRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.get('/v1/workflows/:name/export', { config: workflowRoute('read'), schema }, async (request, reply) => {
    const reader = readerOf(callerOf(request));
    const { manifest_yaml } = await catalog.get(reader, request.params.name, request.query.version);
    // The text as it is: the serializer of the schema would make a JSON string of it.
    return reply
      .type('application/yaml; charset=utf-8')
      .serializer((text: string) => text)
      .send(manifest_yaml);
  });
}

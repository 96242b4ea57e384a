import { z } from 'zod';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { AgentIdParams, CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';

const schema = {
  tags: ['agents'],
  summary: 'Get the manifest of an agent as it was deployed',
  headers: CallerHeaders,
  params: AgentIdParams,
  response: {
    200: { description: 'The manifest.', content: { 'application/yaml': { schema: z.unknown() } } },
    ...problemSchemas({ style: 'plain', also: [404] }),
  },
};

/** GET /v1/agents/{id}/export. */
export function exportAgentRoute(app: RestApp, { agents }: RestParts): void {
  app.get('/v1/agents/:id/export', { config: agentRoute('read'), schema }, async (request, reply) => {
    const manifestYaml = await agents.export(callerOf(request), request.params.id.toLowerCase());
    // The text as it is: the serializer of the schema would make a JSON string of it.
    return reply
      .type('application/yaml; charset=utf-8')
      .serializer((text: string) => text)
      .send(manifestYaml);
  });
}

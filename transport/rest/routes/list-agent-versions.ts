import { z } from 'zod';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { AgentSummary } from '../schemas/agents.ts';
import { AgentIdParams, CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';

const schema = {
  tags: ['agents'],
  summary: 'List the versions of an agent',
  headers: CallerHeaders,
  params: AgentIdParams,
  response: {
    200: z.object({ versions: z.array(AgentSummary) }),
    ...problemSchemas({ style: 'plain', also: [404] }),
  },
};

/** GET /v1/agents/{id}/versions. */
export function listAgentVersionsRoute(app: RestApp, { agents }: RestParts): void {
  app.get('/v1/agents/:id/versions', { config: agentRoute('read'), schema }, async (request) => ({
    versions: await agents.versions(callerOf(request), request.params.id.toLowerCase()),
  }));
}

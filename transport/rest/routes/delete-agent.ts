import { z } from 'zod';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { DeleteQuery, isSet } from '../schemas/catalog.ts';
import { AgentIdParams, CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';

const schema = {
  tags: ['agents'],
  summary: 'Delete an agent with all its versions',
  description: 'Refused while executions of it run, unless forced: those keep their manifest and go on.',
  headers: CallerHeaders,
  params: AgentIdParams,
  querystring: DeleteQuery,
  response: {
    200: z.object({ agent_id: z.string(), deleted: z.literal(true) }),
    ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409] }),
  },
};

/** DELETE /v1/agents/{id}. */
export function deleteAgentRoute(app: RestApp, { agents }: RestParts): void {
  app.delete('/v1/agents/:id', { config: agentRoute('write'), schema }, async (request) => {
    const agentId = request.params.id.toLowerCase();
    await agents.delete(callerOf(request), agentId, { force: isSet(request.query.force) });
    return { agent_id: agentId, deleted: true as const };
  });
}

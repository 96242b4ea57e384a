import { z } from 'zod';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { DeployedAgent } from '../schemas/agents.ts';
import { AgentIdParams, CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';

const schema = {
  tags: ['agents'],
  summary: 'Show an agent with its manifest',
  headers: CallerHeaders,
  params: AgentIdParams,
  querystring: z.object({ version: z.string().min(1).max(64).optional().describe('Default the newest.') }),
  response: { 200: DeployedAgent, ...problemSchemas({ style: 'plain', also: [404] }) },
};

/** GET /v1/agents/{id}. */
export function getAgentRoute(app: RestApp, { agents }: RestParts): void {
  app.get('/v1/agents/:id', { config: agentRoute('read'), schema }, async (request) =>
    agents.get(callerOf(request), request.params.id.toLowerCase(), request.query.version),
  );
}

import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { AgentList } from '../schemas/agents.ts';
import { ListQuery, listFilter } from '../schemas/catalog.ts';
import { CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';

const schema = {
  tags: ['agents'],
  summary: 'List agents',
  description: 'The newest version of each agent, by name.',
  headers: CallerHeaders,
  querystring: ListQuery,
  response: { 200: AgentList, ...problemSchemas({ style: 'plain' }) },
};

/** GET /v1/agents (spec 2). */
export function listAgentsRoute(app: RestApp, { agents }: RestParts): void {
  app.get('/v1/agents', { config: agentRoute('read'), schema }, async (request) => {
    const { items, ...next } = await agents.list(callerOf(request), listFilter(request.query));
    return { agents: items, ...next };
  });
}

import { z } from 'zod';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { AgentLogs } from '../schemas/agents.ts';
import { AgentIdParams, CallerHeaders, limitField, skipField } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';

const MOST = 200;

const schema = {
  tags: ['agents'],
  summary: 'List the log events of an agent',
  headers: CallerHeaders,
  params: AgentIdParams,
  querystring: z.object({ limit: limitField(50, MOST), offset: skipField }),
  response: { 200: AgentLogs, ...problemSchemas({ style: 'plain', also: [404] }) },
};

/** GET /v1/agents/{id}/logs: the result of svc.agent.logs (spec 3), oldest first. */
export function listAgentLogsRoute(app: RestApp, { agents }: RestParts): void {
  app.get('/v1/agents/:id/logs', { config: agentRoute('read'), schema }, async (request) => {
    const agentId = request.params.id.toLowerCase();
    const page = { limit: Math.min(request.query.limit, MOST), offset: request.query.offset };
    const { events, total } = await agents.logs(callerOf(request), agentId, page);
    return { agent_id: agentId, events: events.map((event) => ({ ...event })), total, ...page };
  });
}

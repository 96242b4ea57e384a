import { z } from 'zod';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { AgentList } from '../schemas/agents.ts';
import { CallerHeaders, limitField, skipField } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';

const MOST = 1_000;

const schema = {
  tags: ['agents'],
  summary: 'List agents',
  description: 'The newest version of each agent, by name.',
  headers: CallerHeaders,
  querystring: z.object({ limit: limitField(MOST, MOST), skip: skipField }),
  response: { 200: AgentList, ...problemSchemas({ style: 'plain' }) },
};

/** GET /v1/agents (spec 2). */
export function listAgentsRoute(app: RestApp, { agents }: RestParts): void {
  app.get('/v1/agents', { config: agentRoute('read'), schema }, async (request) => {
    const { limit, skip } = request.query;
    return { agents: await agents.list(callerOf(request), { limit: Math.min(limit, MOST), skip }) };
  });
}

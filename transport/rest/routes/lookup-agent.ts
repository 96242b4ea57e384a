import { z } from 'zod';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { AgentSummary } from '../schemas/agents.ts';
import { CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';

const schema = {
  tags: ['agents'],
  summary: 'Find an agent by its name',
  headers: CallerHeaders,
  params: z.object({ name: z.string().min(1) }),
  response: { 200: AgentSummary, ...problemSchemas({ style: 'plain', also: [404] }) },
};

/** GET /v1/agents/lookup/{name} (spec 2). */
export function lookupAgentRoute(app: RestApp, { agents }: RestParts): void {
  app.get('/v1/agents/lookup/:name', { config: agentRoute('read'), schema }, async (request) =>
    agents.lookup(callerOf(request), request.params.name),
  );
}

import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { AgentSummary } from '../schemas/agents.ts';
import { StatusBody } from '../schemas/catalog.ts';
import { AgentIdParams, CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';

const schema = {
  tags: ['agents'],
  summary: 'Pause or archive an agent, or put it back into service',
  description: 'Executions that run go on. Versions that are deployed later keep the status.',
  headers: CallerHeaders,
  params: AgentIdParams,
  body: StatusBody,
  response: { 200: AgentSummary, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409] }) },
};

/** PATCH /v1/agents/{id}. */
export function changeAgentRoute(app: RestApp, { agents }: RestParts): void {
  app.patch('/v1/agents/:id', { config: agentRoute('write'), schema }, async (request) =>
    agents.setStatus(callerOf(request), request.params.id.toLowerCase(), request.body.status),
  );
}

import { changeScope } from '../change-scope.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { ScopeAnswer } from '../schemas/agents.ts';
import { ScopeBody } from '../schemas/catalog.ts';
import { AgentIdParams, CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';

const schema = {
  tags: ['agents'],
  summary: 'Promote or demote an agent',
  description: 'Promote: user to tenant, tenant to global. Demote: global to tenant, tenant to user.',
  headers: CallerHeaders,
  params: AgentIdParams,
  body: ScopeBody,
  response: { 200: ScopeAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/agents/{id}/scope. */
export function changeAgentScopeRoute(app: RestApp, { agents }: RestParts): void {
  app.post('/v1/agents/:id/scope', { config: agentRoute('write'), schema }, async (request) => {
    const agentId = request.params.id.toLowerCase();
    const { entry, done } = await changeScope(agents, callerOf(request), agentId, request.body);
    return { agent_id: entry.agent_id, name: entry.name, ...done };
  });
}

import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { ScopeAnswer, ScopeBody, WorkflowParams } from '../../schemas/workflows.ts';
import { type WorkflowRouteParts, workflowRoute } from './parts.ts';

const schema = {
  tags: ['workflows'],
  summary: 'Promote or demote a workflow',
  description: 'Promote: user to tenant, tenant to global. Demote: global to tenant, tenant to user.',
  headers: CallerHeaders,
  params: WorkflowParams,
  body: ScopeBody,
  response: { 200: ScopeAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/workflows/{name}/scope: svc.workflow.promote and svc.workflow.demote (spec 3). */
export function changeWorkflowScopeRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.post('/v1/workflows/:name/scope', { config: workflowRoute('write'), schema }, async (request) => {
    const caller = callerOf(request);
    const named = request.params.name;
    const { body } = request;
    const { target_scope } = body;
    if (body.action === 'promote') {
      const { id, name } = await catalog.promote(caller, named, body.target_scope);
      return { workflow_id: id, name, promoted: true as const, target_scope };
    }
    const { id, name } = await catalog.demote(caller, named, body.target_scope, body.user_id);
    return { workflow_id: id, name, demoted: true as const, target_scope };
  });
}

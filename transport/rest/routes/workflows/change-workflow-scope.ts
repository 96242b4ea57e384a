import { changeScope } from '../../change-scope.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { ScopeBody } from '../../schemas/catalog.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { ScopeAnswer, WorkflowParams } from '../../schemas/workflows.ts';
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
    const { entry, done } = await changeScope(catalog, callerOf(request), request.params.name, request.body);
    return { workflow_id: entry.id, name: entry.name, ...done };
  });
}

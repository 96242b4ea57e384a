import { z } from 'zod';
import { SvcError } from '../../../../runtime/errors.ts';
import type { Identity } from '../../../../runtime/identity.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders, limitField, pageAsked, pageTokenField, skipField } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { WORKFLOW_STATUSES, WorkflowExecutionList } from '../../schemas/workflows.ts';
import { readerOf, type WorkflowRouteParts, workflowExecutionRoute } from './parts.ts';

const MOST = 1_000;

const schema = {
  tags: ['workflows'],
  summary: 'List workflow executions, newest first',
  headers: CallerHeaders,
  querystring: z.object({
    workflow_id: z.string().min(1).max(256).optional().describe('UUID or name of the workflow.'),
    status: z.enum(WORKFLOW_STATUSES).optional(),
    limit: limitField(20, MOST),
    offset: skipField,
    page_token: pageTokenField,
  }),
  response: { 200: WorkflowExecutionList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/workflows/executions: svc.workflow.executions.list (spec 3). */
export function listWorkflowExecutionsRoute(app: RestApp, parts: WorkflowRouteParts): void {
  app.get('/v1/workflows/executions', { config: workflowExecutionRoute('read'), schema }, async (request) => {
    const { workflow_id, status, limit, offset, page_token } = request.query;
    const caller = callerOf(request);
    const page = pageAsked({ limit, skip: offset, page_token }, MOST);
    const workflowId = workflow_id === undefined ? undefined : await idOf(parts, caller, workflow_id);
    const { items, total, ...next } = await parts.workflows.list(caller, {
      ...page,
      ...(workflowId === undefined ? {} : { workflowId }),
      ...(status === undefined ? {} : { status }),
    });
    return { executions: items, total, limit: page.limit, offset, ...next };
  });
}

/** Executions outlive their workflow, so an id that is not deployed any more still finds them. */
async function idOf({ catalog }: WorkflowRouteParts, caller: Identity, idOrName: string): Promise<string> {
  try {
    return (await catalog.get(readerOf(caller), idOrName)).id;
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'not_found') return idOrName.toLowerCase();
    throw thrown;
  }
}

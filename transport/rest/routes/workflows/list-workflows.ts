import { z } from 'zod';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders, limitField, skipField } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { WorkflowList } from '../../schemas/workflows.ts';
import { readerOf, type WorkflowRouteParts, workflowRoute } from './parts.ts';

const MOST = 1_000;

const schema = {
  tags: ['workflows'],
  summary: 'List workflows',
  description: 'The newest version of each workflow, by name.',
  headers: CallerHeaders,
  querystring: z.object({
    scope: z
      .enum(['global', 'visible'])
      .optional()
      .describe('`global`: those of all tenants; `visible`: all the caller can run; default those of the tenant.'),
    limit: limitField(MOST, MOST),
    skip: skipField,
  }),
  response: { 200: WorkflowList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/workflows. */
export function listWorkflowsRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.get('/v1/workflows', { config: workflowRoute('read'), schema }, async (request) => {
    const { scope, limit, skip } = request.query;
    const filter = { ...(scope === undefined ? {} : { scope }), limit: Math.min(limit, MOST), skip };
    return { workflows: await catalog.list(readerOf(callerOf(request)), filter) };
  });
}

import { z } from 'zod';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { DeleteQuery, isSet } from '../../schemas/catalog.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { WorkflowParams } from '../../schemas/workflows.ts';
import { type WorkflowRouteParts, workflowRoute } from './parts.ts';

const schema = {
  tags: ['workflows'],
  summary: 'Delete a workflow with all its versions',
  description: 'Refused while executions of it run, unless forced: those keep their manifest and go on.',
  headers: CallerHeaders,
  params: WorkflowParams,
  querystring: DeleteQuery,
  response: {
    200: z.object({ workflow_id: z.string(), deleted: z.literal(true) }),
    ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }),
  },
};

/** DELETE /v1/workflows/{name}. */
export function deleteWorkflowRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.delete('/v1/workflows/:name', { config: workflowRoute('write'), schema }, async (request) => {
    const { workflow_id } = await catalog.delete(callerOf(request), request.params.name, {
      force: isSet(request.query.force),
    });
    return { workflow_id, deleted: true as const };
  });
}

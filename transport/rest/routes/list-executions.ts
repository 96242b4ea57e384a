import { z } from 'zod';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { EXECUTION_STATUSES, ExecutionList } from '../schemas/executions.ts';
import { AgentId, CallerHeaders, pageAsked, pageFields } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { executionRoute } from '../schemas/route-config.ts';

const MOST = 1_000;

const schema = {
  tags: ['executions'],
  summary: 'List executions, newest first',
  headers: CallerHeaders,
  querystring: z.object({
    agent_id: AgentId.optional(),
    status: z.enum(EXECUTION_STATUSES).optional(),
    ...pageFields(20, MOST),
  }),
  response: { 200: ExecutionList, ...problemSchemas({ style: 'plain' }) },
};

/** GET /v1/executions. */
export function listExecutionsRoute(app: RestApp, { executions }: RestParts): void {
  app.get('/v1/executions', { config: executionRoute('read'), schema }, async (request) => {
    const { agent_id, status, ...page } = request.query;
    const filter = {
      ...pageAsked(page, MOST),
      ...(agent_id === undefined ? {} : { agentId: agent_id.toLowerCase() }),
      ...(status === undefined ? {} : { status }),
    };
    const { items, ...next } = await executions.list(callerOf(request), filter);
    return { executions: items, ...next };
  });
}

import { z } from 'zod';
import type { ApprovalApi } from '../../../../actors/approval/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { ApprovalList } from '../../schemas/approvals.ts';
import { CallerHeaders, pageAsked, pageFields } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { approvalRoute } from '../../schemas/route-config.ts';

const MOST = 1_000;

const schema = {
  tags: ['approvals'],
  summary: 'List pending approval requests, oldest first',
  headers: CallerHeaders,
  querystring: z.object(pageFields(MOST, MOST)),
  response: { 200: ApprovalList, ...problemSchemas({ style: 'plain' }) },
};

/** GET /v1/human-approvals. */
export function listRequestsRoute(app: RestApp, approvals: ApprovalApi): void {
  app.get('/v1/human-approvals', { config: approvalRoute('read'), schema }, async (request) => {
    const { items, total, ...next } = await approvals.list(callerOf(request), pageAsked(request.query, MOST));
    return { pending_requests: items, count: total, ...next };
  });
}

import { z } from 'zod';
import type { ApprovalApi } from '../../../../actors/approval/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { ApprovalList } from '../../schemas/approvals.ts';
import { CallerHeaders, limitField, skipField } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { approvalRoute } from '../../schemas/route-config.ts';

const MOST = 1_000;

const schema = {
  tags: ['approvals'],
  summary: 'List pending approval requests, oldest first',
  headers: CallerHeaders,
  querystring: z.object({ limit: limitField(MOST, MOST), skip: skipField }),
  response: { 200: ApprovalList, ...problemSchemas({ style: 'plain' }) },
};

/** GET /v1/human-approvals. */
export function listRequestsRoute(app: RestApp, approvals: ApprovalApi): void {
  app.get('/v1/human-approvals', { config: approvalRoute('read'), schema }, async (request) => {
    const { limit, skip } = request.query;
    const page = { limit: Math.min(limit, MOST), skip };
    const { requests, total } = await approvals.list(callerOf(request), page);
    return { pending_requests: requests, count: total };
  });
}

import type { ApprovalApi } from '../../../../actors/approval/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { ApprovalFound } from '../../schemas/approvals.ts';
import { CallerHeaders, RequestIdParams } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { approvalRoute } from '../../schemas/route-config.ts';

const schema = {
  tags: ['approvals'],
  summary: 'Show a pending approval request',
  description: 'One that is unknown, expired or resolved is answered with 200 and `error`.',
  headers: CallerHeaders,
  params: RequestIdParams,
  response: { 200: ApprovalFound, ...problemSchemas({ style: 'plain' }) },
};

const GONE = { error: 'request not found or already completed' };

/** GET /v1/human-approvals/{id}: 200 also for what is not there (spec 2). */
export function getRequestRoute(app: RestApp, approvals: ApprovalApi): void {
  app.get('/v1/human-approvals/:id', { config: approvalRoute('read'), schema }, async (request) => {
    const found = await approvals.get(callerOf(request), request.params.id.toLowerCase());
    return found === null ? GONE : { request: found };
  });
}

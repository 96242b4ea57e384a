import type { ApprovalApi } from '../../../../actors/approval/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { RejectAnswer, RejectBody } from '../../schemas/approvals.ts';
import { CallerHeaders, RequestIdParams } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { approvalRoute } from '../../schemas/route-config.ts';

const schema = {
  tags: ['approvals'],
  summary: 'Reject what waits for a human',
  headers: CallerHeaders,
  params: RequestIdParams,
  body: RejectBody,
  response: { 200: RejectAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/human-approvals/{id}/reject: the workflow sees the signal `rejected`. One answer wins, others are 409. */
export function rejectRequestRoute(app: RestApp, approvals: ApprovalApi): void {
  app.post('/v1/human-approvals/:id/reject', { config: approvalRoute('run'), schema }, async (request) => {
    const { reason, rejected_by: by = null } = request.body;
    const id = request.params.id.toLowerCase();
    const { trace } = request;
    await approvals.answer(callerOf(request), id, { payload: 'rejected', feedback: reason, by }, { trace });
    return { status: 'rejected' as const, request_id: id };
  });
}

import type { ApprovalApi } from '../../../../actors/approval/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { ApproveAnswer, ApproveBody } from '../../schemas/approvals.ts';
import { CallerHeaders, RequestIdParams } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { approvalRoute } from '../../schemas/route-config.ts';

const schema = {
  tags: ['approvals'],
  summary: 'Approve what waits for a human',
  headers: CallerHeaders,
  params: RequestIdParams,
  body: ApproveBody.nullish(),
  response: { 200: ApproveAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/human-approvals/{id}/approve: the workflow sees the signal `approved`. One answer wins, others are 409. */
export function approveRequestRoute(app: RestApp, approvals: ApprovalApi): void {
  app.post('/v1/human-approvals/:id/approve', { config: approvalRoute('run'), schema }, async (request) => {
    const { feedback = null, approved_by: by = null } = request.body ?? {};
    const id = request.params.id.toLowerCase();
    const { trace } = request;
    await approvals.answer(callerOf(request), id, { payload: 'approved', feedback, by }, { trace });
    return { status: 'approved' as const, request_id: id };
  });
}

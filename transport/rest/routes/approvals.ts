import { z } from 'zod';
import type { ApprovalApi } from '../../../usecases/approvals.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { CallerHeaders, nextPageField, pageAsked, pageFields, RequestIdParams } from '../../../usecases/operations/schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { approvalRoute } from '../schemas/route-config.ts';

/** A question to a human as callers see it (H19). */
const ApprovalRequest = z.object({
  id: z.string().describe('UUID of the request.'),
  execution_id: z.string().describe('Execution that waits for the decision.'),
  prompt: z.string(),
  created_at: z.string().describe('ISO 8601.'),
  timeout_seconds: z.number().int().describe('Seconds before it times out; 0: it waits without end.'),
});

const ApprovalList = z.object({
  pending_requests: z.array(ApprovalRequest),
  count: z.number().int().describe('Of all that are pending.'),
  ...nextPageField,
});

/** The status is 200 for both (H19). */
const ApprovalFound = z.union([
  z.object({ request: ApprovalRequest }),
  z.object({ error: z.string().describe('The request was not found or is completed.') }),
]);

const MOST_CHARS = 65_536;

const by = z.string().max(500).optional();

const ApproveBody = z.object({
  feedback: z.string().max(MOST_CHARS).optional().describe('`{{human.feedback}}` of the workflow.'),
  approved_by: by,
});

const RejectBody = z.object({
  reason: z.string().min(1).max(MOST_CHARS).describe('`{{human.feedback}}` of the workflow.'),
  rejected_by: by,
});

const ApproveAnswer = z.object({ status: z.literal('approved'), request_id: z.string() });

const RejectAnswer = z.object({ status: z.literal('rejected'), request_id: z.string() });

const MOST = 1_000;

const listRequestsSchema = {
  tags: ['approvals'],
  summary: 'List pending approval requests, oldest first',
  headers: CallerHeaders,
  querystring: z.object(pageFields(MOST, MOST)),
  response: { 200: ApprovalList, ...problemSchemas({ style: 'plain' }) },
};

/** GET /v1/human-approvals. */
function listRequestsRoute(app: RestApp, approvals: ApprovalApi): void {
  app.get('/v1/human-approvals', { config: approvalRoute('read'), schema: listRequestsSchema }, async (request) => {
    const { items, total, ...next } = await approvals.list(callerOf(request), pageAsked(request.query, MOST));
    return { pending_requests: items, count: total, ...next };
  });
}

const getRequestSchema = {
  tags: ['approvals'],
  summary: 'Show a pending approval request',
  description: 'One that is unknown, expired or resolved is answered with 200 and `error`.',
  headers: CallerHeaders,
  params: RequestIdParams,
  response: { 200: ApprovalFound, ...problemSchemas({ style: 'plain' }) },
};

const GONE = { error: 'request not found or already completed' };

/** GET /v1/human-approvals/{id}: 200 also for what is not there (H19). */
function getRequestRoute(app: RestApp, approvals: ApprovalApi): void {
  app.get('/v1/human-approvals/:id', { config: approvalRoute('read'), schema: getRequestSchema }, async (request) => {
    const found = await approvals.get(callerOf(request), request.params.id.toLowerCase());
    return found === null ? GONE : { request: found };
  });
}

const approveRequestSchema = {
  tags: ['approvals'],
  summary: 'Approve what waits for a human',
  headers: CallerHeaders,
  params: RequestIdParams,
  body: ApproveBody.nullish(),
  response: { 200: ApproveAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/human-approvals/{id}/approve: the workflow sees the signal `approved`. One answer wins, others are 409. */
function approveRequestRoute(app: RestApp, approvals: ApprovalApi): void {
  app.post(
    '/v1/human-approvals/:id/approve',
    { config: approvalRoute('run'), schema: approveRequestSchema },
    async (request) => {
      const { feedback = null, approved_by: by = null } = request.body ?? {};
      const id = request.params.id.toLowerCase();
      const { trace } = request;
      await approvals.answer(callerOf(request), id, { payload: 'approved', feedback, by }, { trace });
      return { status: 'approved' as const, request_id: id };
    },
  );
}

const rejectRequestSchema = {
  tags: ['approvals'],
  summary: 'Reject what waits for a human',
  headers: CallerHeaders,
  params: RequestIdParams,
  body: RejectBody,
  response: { 200: RejectAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/human-approvals/{id}/reject: the workflow sees the signal `rejected`. One answer wins, others are 409. */
function rejectRequestRoute(app: RestApp, approvals: ApprovalApi): void {
  app.post(
    '/v1/human-approvals/:id/reject',
    { config: approvalRoute('run'), schema: rejectRequestSchema },
    async (request) => {
      const { reason, rejected_by: by = null } = request.body;
      const id = request.params.id.toLowerCase();
      const { trace } = request;
      await approvals.answer(callerOf(request), id, { payload: 'rejected', feedback: reason, by }, { trace });
      return { status: 'rejected' as const, request_id: id };
    },
  );
}

const ROUTES = [listRequestsRoute, getRequestRoute, approveRequestRoute, rejectRequestRoute];

/** /v1/human-approvals (H19), where the node has approvals. */
export function approvalRoutes(app: RestApp, { approvals }: RestParts): void {
  if (approvals === undefined) return;
  for (const route of ROUTES) route(app, approvals);
}

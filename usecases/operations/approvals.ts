import { z } from 'zod';
import { operation } from './operation.ts';
import { nextPageField, pageAsked, pageFields, RequestIdParams } from './schemas/fields.ts';

/** A question to a human, in the shape that callers get (H19). */
const ApprovalRequest = z
  .object({
    id: z.string().describe('UUID of the request.'),
    execution_id: z.string().describe('Execution that waits for the decision.'),
    prompt: z.string(),
    created_at: z.string().describe('ISO 8601.'),
    timeout_seconds: z.number().int().describe('Seconds until it times out; 0: never.'),
  })
  .meta({ id: 'Approval' });

const ApprovalList = z.object({
  pending_requests: z.array(ApprovalRequest),
  count: z.number().int().describe('Total number of pending ones.'),
  ...nextPageField,
});

/** An approval, or an error. Both have status 200 (H19). */
const ApprovalFound = z.union([
  z.object({ request: ApprovalRequest }),
  z.object({ error: z.string().describe('The request was not found or is completed.') }),
]);

const MOST_CHARS = 65_536;

const by = z.string().max(500).optional();

const ApproveBody = z.strictObject({
  feedback: z.string().max(MOST_CHARS).optional().describe('`{{human.feedback}}` of the workflow.'),
  approved_by: by,
});

const RejectBody = z.strictObject({
  reason: z.string().min(1).max(MOST_CHARS).describe('`{{human.feedback}}` of the workflow.'),
  rejected_by: by,
});

const ApproveAnswer = z.object({ status: z.literal('approved'), request_id: z.string() });

const RejectAnswer = z.object({ status: z.literal('rejected'), request_id: z.string() });

const MOST = 1_000;

const GONE = { error: 'request not found or already completed' };

const common = { tag: 'approvals', needs: ['approvals'] } as const;

const texts = { notFound: 'request not found' };

/** Lists questions to humans and takes their answers (H19). The first answer wins; later ones get 409. */
export const APPROVAL_OPERATIONS = [
  operation({
    ...common,
    name: 'approvals.list',
    summary: 'List pending approval requests, oldest first',
    access: 'read',
    input: { query: z.object(pageFields(MOST, MOST)) },
    answer: ApprovalList,
    rest: { method: 'GET', path: '/v1/human-approvals', style: 'plain', texts },
    tool: 'svc.approval.list',
    commands: ['approval list'],
    async handle({ approvals }, { identity, query }) {
      const { items, total, ...next } = await approvals.list(identity, pageAsked(query, MOST));
      return { pending_requests: items, count: total, ...next };
    },
  }),
  operation({
    ...common,
    name: 'approvals.get',
    summary: 'Show a pending approval request',
    description: 'An unknown, expired or resolved one is answered with 200 and `error`.',
    access: 'read',
    input: { params: RequestIdParams },
    answer: ApprovalFound,
    rest: { method: 'GET', path: '/v1/human-approvals/:id', style: 'plain', texts },
    async handle({ approvals }, { identity, params }) {
      const found = await approvals.get(identity, params.id);
      return found === null ? GONE : { request: found };
    },
  }),
  operation({
    ...common,
    name: 'approvals.approve',
    summary: 'Approve a pending approval request',
    access: 'run',
    input: { params: RequestIdParams, body: ApproveBody.nullish() },
    answer: ApproveAnswer,
    rest: { method: 'POST', path: '/v1/human-approvals/:id/approve', style: 'plain', texts, also: [404, 409] },
    tool: 'svc.approval.approve',
    commands: ['approval approve'],
    async handle({ approvals }, { identity, params, body, trace }) {
      const { feedback = null, approved_by: by = null } = body ?? {};
      await approvals.answer(identity, params.id, { payload: 'approved', feedback, by }, { trace });
      return { status: 'approved' as const, request_id: params.id };
    },
  }),
  operation({
    ...common,
    name: 'approvals.reject',
    summary: 'Reject a pending approval request',
    access: 'run',
    input: { params: RequestIdParams, body: RejectBody },
    answer: RejectAnswer,
    rest: { method: 'POST', path: '/v1/human-approvals/:id/reject', style: 'plain', texts, also: [404, 409] },
    tool: 'svc.approval.reject',
    commands: ['approval reject'],
    async handle({ approvals }, { identity, params, body: { reason, rejected_by: by = null }, trace }) {
      await approvals.answer(identity, params.id, { payload: 'rejected', feedback: reason, by }, { trace });
      return { status: 'rejected' as const, request_id: params.id };
    },
  }),
];

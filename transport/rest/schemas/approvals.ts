import { z } from 'zod';
import { nextPageField } from './fields.ts';

/** Human approval request of spec 2. */
export const ApprovalRequest = z.object({
  id: z.string().describe('UUID of the request.'),
  execution_id: z.string().describe('Execution that waits for the decision.'),
  prompt: z.string(),
  created_at: z.string().describe('ISO 8601.'),
  timeout_seconds: z.number().int().describe('Seconds before it times out; 0: it waits without end.'),
});

export const ApprovalList = z.object({
  pending_requests: z.array(ApprovalRequest),
  count: z.number().int().describe('Of all that are pending.'),
  ...nextPageField,
});

/** Spec 2 has status 200 for both. */
export const ApprovalFound = z.union([
  z.object({ request: ApprovalRequest }),
  z.object({ error: z.string().describe('The request was not found or is completed.') }),
]);

const MOST_CHARS = 65_536;
const by = z.string().max(500).optional();

export const ApproveBody = z.object({
  feedback: z.string().max(MOST_CHARS).optional().describe('`{{human.feedback}}` of the workflow.'),
  approved_by: by,
});

export const RejectBody = z.object({
  reason: z.string().min(1).max(MOST_CHARS).describe('`{{human.feedback}}` of the workflow.'),
  rejected_by: by,
});

export const ApproveAnswer = z.object({ status: z.literal('approved'), request_id: z.string() });
export const RejectAnswer = z.object({ status: z.literal('rejected'), request_id: z.string() });

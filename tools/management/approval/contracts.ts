import { z } from 'zod';
import { count, limit, MAX_LISTED, offset, requestId, TEXT_CHARS, time } from '../../../usecases/fields.ts';
import { changing, defineContract, reading, toolArguments } from '../../contract/arguments.ts';

export const approvalList = defineContract({
  ...reading,
  name: 'svc.approval.list',
  description:
    'Lists the questions to humans that workflow runs wait for, oldest first. A person answers them with ' +
    'svc.approval.approve or svc.approval.reject.',
  input: toolArguments({ limit: limit(20, MAX_LISTED), offset }),
  // The same fields as in GET /v1/human-approvals (H19).
  result: z.strictObject({
    pending_requests: z.array(
      z.strictObject({
        id: z.string(),
        execution_id: z.string().describe('The run that waits.'),
        prompt: z.string(),
        created_at: time,
        timeout_seconds: count.describe('Seconds until it times out; 0: never.'),
      }),
    ),
    count: count.describe('Total number of pending ones.'),
    limit: count,
    offset: count,
  }),
});

const answered = <Status extends string>(status: Status) =>
  z.strictObject({ status: z.literal(status), request_id: z.string() });

export const approvalApprove = defineContract({
  ...changing,
  name: 'svc.approval.approve',
  description: 'Approves what a workflow run waits for. Ask the person first; the first answer to a request counts.',
  input: toolArguments({
    request_id: requestId,
    feedback: z.string().max(TEXT_CHARS).optional().describe('{{human.feedback}} of the workflow.'),
  }),
  result: answered('approved'),
});

export const approvalReject = defineContract({
  ...changing,
  name: 'svc.approval.reject',
  description: 'Rejects what a workflow run waits for. Ask the person first; the first answer to a request counts.',
  input: toolArguments({
    request_id: requestId,
    reason: z.string().min(1).max(TEXT_CHARS).describe('{{human.feedback}} of the workflow.'),
  }),
  result: answered('rejected'),
});

export const APPROVAL_CONTRACTS = [approvalList, approvalApprove, approvalReject] as const;

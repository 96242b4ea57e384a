import { z } from 'zod';
import { jsonField } from '../../runtime/json-field.ts';
import { Notify } from '../../runtime/notify.ts';

/** Opens an approval; the workflow hears `ApprovalOpened`, `ApprovalAnswered` or `ApprovalExpired` under `notify.as`. */
export const Ask = z.object({
  approval_id: z.string().min(1).max(128),
  /** Workflow execution that waits. */
  execution_id: z.string().min(1).max(128),
  state_name: z.string(),
  prompt: z.string(),
  /** Null: waits without end. */
  timeout_ms: z.number().int().min(1).nullable(),
  /** Applied when the time is over; null: the state fails. */
  default_response: z.string().nullable(),
  /** Subject that alone sees and answers it, beside operators; absent: it is the tenant's. */
  owner: z.string().optional(),
  notify: Notify,
});
export type Ask = z.output<typeof Ask>;

export const Answer = z.object({
  /** What conditions see: `approved`, `rejected`, or the text of the signal. */
  payload: z.string().max(65_536),
  /** `{{human.feedback}}`; null: the payload. */
  feedback: z.string().max(65_536).nullable(),
  /** Claimed by the caller; the identity of the message is kept beside it. */
  by: z.string().max(500).nullable(),
});
export type Answer = z.output<typeof Answer>;

export const approvalMessages = {
  Ask,
  Answer,
  Expired: z.object({}),
  /** The workflow no longer waits (cancelled, timed out). */
  Withdraw: z.object({}),
} as const;

/** What the asker hears. `opened` comes once the approval is committed as pending. */
export const ApprovalWord = z.object({
  approval_id: z.string(),
  kind: z.enum(['opened', 'answered', 'expired']),
  /** Null for `opened`, and for `expired` without a default response. */
  payload: z.string().nullable(),
  feedback: z.string().nullable(),
  context: jsonField,
});
export type ApprovalWord = z.output<typeof ApprovalWord>;

import { z } from 'zod';

const subject = { approval_id: z.string(), execution_id: z.string(), state_name: z.string() } as const;

/** What happened to one approval, in order; the first is always ApprovalRequested, one of the others the last. */
export const approvalEvents = {
  ApprovalRequested: z.object({
    ...subject,
    prompt: z.string(),
    /** Null: it waits without end. */
    timeout_ms: z.number().nullable(),
    requested_at: z.string(),
  }),
  ApprovalAnswered: z.object({
    ...subject,
    payload: z.string(),
    feedback: z.string().nullable(),
    /** As the caller claims. */
    by: z.string().nullable(),
    /** Subject of the identity that answered. */
    answered_by: z.string().nullable(),
    answered_at: z.string(),
  }),
  ApprovalExpired: z.object({ ...subject, default_response: z.string().nullable(), expired_at: z.string() }),
  ApprovalWithdrawn: z.object({ ...subject, withdrawn_at: z.string() }),
} as const;

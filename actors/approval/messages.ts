import { z } from 'zod';
import { Identity } from '../../runtime/identity.ts';
import { jsonField } from '../../runtime/json.ts';
import { Notify } from '../../runtime/message.ts';
import { TraceContext } from '../../runtime/tracing/trace-context.ts';

/** Opens an approval. The workflow gets each `ApprovalUpdate` as the message that `notify.as` names. */
export const Ask = z.object({
  approval_id: z.string().min(1).max(128),
  /** The workflow execution that waits for the answer. */
  execution_id: z.string().min(1).max(128),
  state_name: z.string(),
  prompt: z.string(),
  /** Null: no time-out. */
  timeout_ms: z.number().int().min(1).nullable(),
  /** Applied at the time-out; null: the state fails. */
  default_response: z.string().nullable(),
  /** The only subject, besides operators, that sees and answers it; absent: every caller of the tenant does. */
  owner: z.string().optional(),
  notify: Notify,
});

export type Ask = z.output<typeof Ask>;

export const Answer = z.object({
  /** The value that conditions read: `approved`, `rejected`, or the text of the signal. */
  payload: z.string().max(65_536),
  /** `{{human.feedback}}`; null: the payload is used. */
  feedback: z.string().max(65_536).nullable(),
  /** As claimed by the caller; the verified identity of the message is stored beside it. */
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

/** Update to the workflow that opened the approval. `opened` is sent once the approval is committed as pending. */
export const ApprovalUpdate = z.object({
  approval_id: z.string(),
  kind: z.enum(['opened', 'answered', 'expired']),
  /** Null for `opened`, and for `expired` without a default response. */
  payload: z.string().nullable(),
  feedback: z.string().nullable(),
  context: jsonField,
});

export type ApprovalUpdate = z.output<typeof ApprovalUpdate>;

/** Fields of every approval from its first message on. Times are ISO 8601. */
const asked = {
  approval_id: z.string(),
  execution_id: z.string(),
  state_name: z.string(),
  prompt: z.string(),
  created_at: z.string(),
  timeout_ms: z.number().int().nullable(),
  /** The only subject, besides operators, that sees and answers it; absent: every caller of the tenant does. */
  owner: z.string().optional(),
} as const;

const over = { ...asked, resolved_at: z.string() } as const;

/** One approval: new → pending → answered | expired | withdrawn. */
export const ApprovalState = z.discriminatedUnion('status', [
  z.object({ status: z.literal('new') }),
  z.object({
    ...asked,
    status: z.literal('pending'),
    /** Unix ms; null: no time-out. */
    expires_at: z.number().nullable(),
    default_response: z.string().nullable(),
    notify: Notify,
    /** The message that opened it, and its trace, which the answer continues. Absent in approvals of earlier versions. */
    asked_by: z.object({ message: z.string(), trace: z.string(), context: TraceContext.optional() }).optional(),
  }),
  z.object({
    ...over,
    status: z.literal('answered'),
    payload: z.string(),
    feedback: z.string().nullable(),
    /** As claimed by the caller. */
    by: z.string().nullable(),
    /** The verified identity; null when the message carried none. */
    identity: Identity.nullable(),
  }),
  /** `payload`: the default response, if it was applied. */
  z.object({ ...over, status: z.literal('expired'), payload: z.string().nullable() }),
  z.object({ ...over, status: z.literal('withdrawn') }),
]);

export type ApprovalState = z.output<typeof ApprovalState>;

export type PendingApproval = Extract<ApprovalState, { status: 'pending' }>;

const subject = { approval_id: z.string(), execution_id: z.string(), state_name: z.string() } as const;

/** Events of one approval: ApprovalRequested first, then exactly one of the others. */
export const approvalEvents = {
  ApprovalRequested: z.object({
    ...subject,
    prompt: z.string(),
    /** Null: no time-out. */
    timeout_ms: z.number().nullable(),
    requested_at: z.string(),
  }),
  ApprovalAnswered: z.object({
    ...subject,
    payload: z.string(),
    feedback: z.string().nullable(),
    /** As claimed by the caller. */
    by: z.string().nullable(),
    /** Subject of the identity that answered. */
    answered_by: z.string().nullable(),
    answered_at: z.string(),
  }),
  ApprovalExpired: z.object({ ...subject, default_response: z.string().nullable(), expired_at: z.string() }),
  ApprovalWithdrawn: z.object({ ...subject, withdrawn_at: z.string() }),
} as const;

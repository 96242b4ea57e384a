import { z } from 'zod';
import { Identity } from '../../runtime/identity.ts';
import { Notify } from '../../runtime/notify.ts';

/** What every approval knows from its first message on. Times are ISO 8601. */
const asked = {
  approval_id: z.string(),
  execution_id: z.string(),
  state_name: z.string(),
  prompt: z.string(),
  created_at: z.string(),
  timeout_ms: z.number().int().nullable(),
  /** Subject that alone sees and answers it, beside operators; absent: it is the tenant's. */
  owner: z.string().optional(),
} as const;

const over = { ...asked, resolved_at: z.string() } as const;

/** One approval: new → pending → answered | expired | withdrawn. */
export const ApprovalState = z.discriminatedUnion('status', [
  z.object({ status: z.literal('new') }),
  z.object({
    ...asked,
    status: z.literal('pending'),
    /** Unix ms; null: it waits without end. */
    expires_at: z.number().nullable(),
    default_response: z.string().nullable(),
    notify: Notify,
  }),
  z.object({
    ...over,
    status: z.literal('answered'),
    payload: z.string(),
    feedback: z.string().nullable(),
    /** As the caller claims. */
    by: z.string().nullable(),
    /** Who it really was; null when no client's message carried an identity. */
    identity: Identity.nullable(),
  }),
  /** `payload`: the default response that was applied. */
  z.object({ ...over, status: z.literal('expired'), payload: z.string().nullable() }),
  z.object({ ...over, status: z.literal('withdrawn') }),
]);
export type ApprovalState = z.output<typeof ApprovalState>;
export type PendingApproval = Extract<ApprovalState, { status: 'pending' }>;

import { z } from 'zod';

/** `typ` in the header of a head: no token of a node or an agent has it, and no head passes for one. */
export const HEAD_TYPE = 'svc-audit+jws';

/** What the signature over a chain says: this record was the last one when it was signed. */
export const AuditHead = z.strictObject({
  session_id: z.string(),
  tenant: z.string(),
  sequence: z.number().int().min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** ISO time. */
  signed_at: z.string(),
});
export type AuditHead = z.output<typeof AuditHead>;

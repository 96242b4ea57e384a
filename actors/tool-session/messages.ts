import { z } from 'zod';
import { AuditRecord } from '../../manifests/audit/record.ts';
import { ToolSubject } from '../../manifests/tool/call.ts';
import { ToolGrant } from '../../manifests/tool/scope.ts';
import { EffectResult } from '../../runtime/effect.ts';
import { jsonField } from '../../runtime/json-field.ts';

const id = z.string().min(1).max(128);
const text = z.string().max(2_000);

/** Opens a session; the same again is harmless, after `Close` it is refused. */
export const Open = z.object({
  session_id: id,
  source: z.enum(['seal', 'inner_loop', 'mcp']),
  subject: ToolSubject,
  grant: ToolGrant,
  /** Ed25519, JWK `x`; null for sessions without an agent's key. */
  public_key: z.string().max(64).nullable(),
  /** The execution's own: its calls are told by `Record`, and it closes with the execution. */
  expires_at: z.string().nullable(),
});
export type OpenSession = z.input<typeof Open>;

export const toolSessionMessages = {
  Open,
  /** Asked: decides, records, begins the effect; answers `{accepted}` or the refusal. The result is the event `CallEnded`. */
  Invoke: z.object({
    call: z.string().min(1).max(300),
    tool: z.string().max(200).nullable(),
    arguments: jsonField,
    envelope_hash: z.string().nullable(),
    payload_hash: z.string(),
    /** Only for a session that ends with this one call (source `mcp`). */
    last: z.boolean().optional(),
  }),
  ToolEnded: EffectResult,
  /** What an execution did in its inner loop: decided and ended calls, for the chain. */
  Record: z.object({ body: AuditRecord.shape.body }),
  /** A refused envelope whose token claimed this session. */
  Refuse: z.object({ envelope_hash: z.string(), reason: text }),
  /** The execution has ended. Creates a closed session when none was opened yet. */
  Close: z.object({ reason: text }),
  /** An operator ends it. */
  Revoke: z.object({ reason: text }),
  Expired: z.object({}),
} as const;

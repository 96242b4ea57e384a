import { z } from 'zod';

const hash = z.string().regex(/^[0-9a-f]{64}$/, 'expected SHA-256 in lower-case hex');

/** What a record is about. Texts are bounded by whoever writes it; no argument and no result is in it. */
const body = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('opened'),
    session_id: z.string(),
    tenant: z.string(),
    execution_id: z.string().nullable(),
    agent_id: z.string().nullable(),
    /** `seal`: attested; `inner_loop`: the execution's own; `mcp`, `rest`: a caller of /mcp, of /v1/tools. */
    source: z.enum(['seal', 'inner_loop', 'mcp', 'rest']),
    subject: z.string(),
    security_context: z.string(),
    /** Ed25519, JWK `x`; of attested sessions. */
    public_key: z.string().nullable(),
    /** Names and schema hashes of what was offered. */
    tools: z.array(z.object({ name: z.string(), schema_hash: hash })),
  }),
  /** A call was decided about. */
  z.object({
    kind: z.literal('decided'),
    call: z.string(),
    tool: z.string(),
    /** SHA-256 of the envelope as received: of payload, token, signature, timestamp, protocol; null without one. */
    envelope_hash: hash.nullable(),
    /** SHA-256 of the canonical JSON of name and arguments. */
    payload_hash: hash,
    decision: z.enum(['allowed', 'denied']),
    /** A denial reason; null when allowed. */
    reason: z.string().nullable(),
    schema_hash: hash.nullable(),
  }),
  /** A call that was allowed has ended. */
  z.object({
    kind: z.literal('ended'),
    call: z.string(),
    outcome: z.enum(['succeeded', 'failed', 'in_doubt']),
    error: z.string().nullable(),
    result_hash: hash.nullable(),
  }),
  /** An envelope that was refused before it was known whose it is; `claimed` where its token named this session. */
  z.object({
    kind: z.literal('refused'),
    envelope_hash: hash,
    reason: z.string(),
  }),
  /** Recorded result given again. */
  z.object({ kind: z.literal('replayed'), call: z.string(), envelope_hash: hash }),
  z.object({ kind: z.literal('closed'), reason: z.string() }),
]);
export type AuditBody = z.output<typeof body>;

/** One link. `sequence` counts 1, 2, 3 … without gaps; the first has no `previous_hash`. */
export const AuditRecord = z.object({
  sequence: z.number().int().min(1),
  /** ISO time. */
  at: z.string(),
  body,
  previous_hash: hash.nullable(),
  /** SHA-256 of the canonical JSON of all above. */
  hash,
});
export type AuditRecord = z.output<typeof AuditRecord>;

/**
 * What `GET /v1/seal/sessions/{id}/audit` answers and `svc audit verify` reads. `head` is a compact JWS (RS256, `kid` of the
 * node's JWKS) over `{session_id, tenant, sequence, hash, signed_at}` of the last record.
 */
export const AuditExport = z.strictObject({
  format: z.literal('svc-audit/v1'),
  session_id: z.string(),
  tenant: z.string(),
  records: z.array(AuditRecord),
  head: z.string(),
});
export type AuditExport = z.output<typeof AuditExport>;

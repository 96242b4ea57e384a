import { hash as linkHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import type { ToolOutcome } from '../tool/call.ts';

export const hash = z.string().regex(/^[0-9a-f]{64}$/, 'expected SHA-256 in lower-case hex');

/** Content of a record. The writer limits the length of texts; arguments and results are never included. */
const body = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('opened'),
    session_id: z.string(),
    tenant: z.string(),
    execution_id: z.string().nullable(),
    agent_id: z.string().nullable(),
    /** `seal`: an attested agent; `inner_loop`: the execution's own; `mcp`, `rest`: a caller of /mcp or /v1/tools. */
    source: z.enum(['seal', 'inner_loop', 'mcp', 'rest']),
    subject: z.string(),
    security_context: z.string(),
    /** Ed25519, JWK `x`; for attested sessions. */
    public_key: z.string().nullable(),
    /** Names and schema hashes of the offered tools. */
    tools: z.array(z.object({ name: z.string(), schema_hash: hash })),
  }),
  /** A call was allowed or denied. */
  z.object({
    kind: z.literal('decided'),
    call: z.string(),
    tool: z.string(),
    /** SHA-256 of the envelope as received (payload, token, signature, timestamp, protocol); null without one. */
    envelope_hash: hash.nullable(),
    /** SHA-256 of the canonical JSON of name and arguments. */
    payload_hash: hash,
    decision: z.enum(['allowed', 'denied']),
    /** A denial reason; null when allowed. */
    reason: z.string().nullable(),
    schema_hash: hash.nullable(),
  }),
  /** An allowed call has ended. */
  z.object({
    kind: z.literal('ended'),
    call: z.string(),
    outcome: z.enum(['succeeded', 'failed', 'in_doubt']),
    error: z.string().nullable(),
    result_hash: hash.nullable(),
  }),
  /** An envelope was refused before its session was verified; `claimed` is the session its token names. */
  z.object({
    kind: z.literal('refused'),
    envelope_hash: hash,
    reason: z.string(),
  }),
  /** A recorded result was returned again. */
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
  /** SHA-256 of the canonical JSON of all fields above. */
  hash,
});

export type AuditRecord = z.output<typeof AuditRecord>;

/**
 * Answer of `GET /v1/seal/sessions/{id}/audit`, which `svc audit verify` reads. `head` is a compact JWS (RS256, `kid`
 * of the node's JWKS) over `{session_id, tenant, sequence, hash, signed_at}` of the last record.
 */
export const AuditExport = z.strictObject({
  format: z.literal('svc-audit/v1'),
  session_id: z.string(),
  tenant: z.string(),
  records: z.array(AuditRecord),
  head: z.string(),
});

export type AuditExport = z.output<typeof AuditExport>;

/** SHA-256, hex, of the RFC 8785 form of a JSON value. Half a surrogate pair has no such form and counts as U+FFFD. */
export const canonicalHash = (value: unknown): string => linkHash('sha256', canonicalText(value), 'hex');

/** The RFC 8785 form of a JSON value. */
export function canonicalText(value: unknown): string {
  const ordered = inOrder(value, MOST_DEPTH);
  if (ordered !== UNUSUAL) return JSON.stringify(ordered);
  try {
    return canonicalize(value) ?? 'null';
  } catch (error) {
    const text = JSON.stringify(value);
    const wellFormed = text.replace(ESCAPE, (one, half: string | undefined) => (half ? '\uFFFD' : one));
    if (wellFormed === text) throw error;
    return canonicalize(JSON.parse(wellFormed)) ?? 'null';
  }
}

const UNUSUAL = Symbol('a value that is left to the library');

/** Values that are nested deeper are left to the library, which needs no stack for them. */
const MOST_DEPTH = 100;

/** Names that an object of JavaScript keeps in another order, or that mean something else to it. */
const UNUSUAL_NAME = /^(?:\d+|__proto__|toJSON)$/;

/**
 * A copy whose names are in order, so that `JSON.stringify` writes the canonical text. The library adds text by text, which makes
 * a string of each name, value and comma: three times the garbage. `UNUSUAL`: the copy might have another text.
 */
function inOrder(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.isWellFormed() ? value : UNUSUAL;
  if (typeof value === 'number') return Number.isFinite(value) ? value : UNUSUAL;
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value !== 'object' || depth === 0) return UNUSUAL;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const inner of value) {
      const copy = inOrder(inner, depth - 1);
      if (copy === UNUSUAL) return UNUSUAL;
      list.push(copy);
    }
    return list;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return UNUSUAL;
  const names = Object.keys(value);
  sortFew(names);
  const ordered: Record<string, unknown> = {};
  for (const name of names) {
    const inner: unknown = Reflect.get(value, name);
    if (inner === undefined) continue;
    const copy = UNUSUAL_NAME.test(name) || !name.isWellFormed() ? UNUSUAL : inOrder(inner, depth - 1);
    if (copy === UNUSUAL) return UNUSUAL;
    ordered[name] = copy;
  }
  return ordered;
}

const FEW = 32;

/** Sorts names in place by their UTF-16 units, as `sort` does, which copies them twice. */
function sortFew(names: string[]): void {
  if (names.length > FEW) {
    names.sort();
    return;
  }
  for (let end = 1; end < names.length; end += 1) {
    const name = names[end] ?? '';
    let at = end;
    for (; at > 0 && (names[at - 1] ?? '') > name; at -= 1) names[at] = names[at - 1] ?? '';
    names[at] = name;
  }
}

/** Escapes as `JSON.stringify` writes them: `\ud800` to `\udfff` only for unpaired halves. */
const ESCAPE = /\\(?:u(d[89a-f][0-9a-f]{2})|.)/g;

/** The hash that a record must have; its body may be any value. */
export const recordHash = ({
  sequence,
  at,
  body,
  previous_hash,
}: Omit<AuditRecord, 'body' | 'hash'> & { readonly body?: unknown }): string =>
  canonicalHash({ sequence, at, body, previous_hash });

/** The last link of a chain. */
export interface ChainEnd {
  readonly sequence: number;
  readonly hash: string | null;
}

export const emptyChain: ChainEnd = { sequence: 0, hash: null };

type Link<Body> = Omit<AuditRecord, 'body'> & { readonly body: Body };

/** The next link of a chain of tool calls or of operations. */
export function nextRecord<Body = AuditBody>(end: ChainEnd, body: Body, at: string): Link<Body> {
  const record = { sequence: end.sequence + 1, at, body, previous_hash: end.hash };
  return { ...record, hash: recordHash(record) };
}

/** `typ` in a head's header. No token of a node or an agent has it, so neither can be used as the other. */
export const HEAD_TYPE = 'svc-audit+jws';

/** What the signature of a chain states: this record was the last one when it was signed. */
export const AuditHead = z.strictObject({
  session_id: z.string(),
  tenant: z.string(),
  sequence: z.number().int().min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** ISO time. */
  signed_at: z.string(),
});

export type AuditHead = z.output<typeof AuditHead>;

/**
 * `result_hash` of a record: over the result that the caller or the model gets. For a result stored as a blob, the SHA-256 at
 * the beginning of its reference stands for the content; the owner of the blob is ignored.
 */
export const resultHash = ({ content, structured, is_error, stored }: ToolOutcome): string =>
  canonicalHash({ content, structured: structured ?? null, is_error, stored: stored?.ref.split('.', 1)[0] ?? null });

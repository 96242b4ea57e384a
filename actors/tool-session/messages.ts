import { z } from 'zod';
import { AuditRecord } from '../../manifests/audit/record.ts';
import { ToolOutcome, ToolSubject } from '../../manifests/tool/call.ts';
import { ToolGrant } from '../../manifests/tool/scope.ts';
import { EffectResult } from '../../runtime/effect.ts';
import { jsonField } from '../../runtime/json.ts';

const id = z.string().min(1).max(128);

const text = z.string().max(2_000);

const hash = z.string().regex(/^[0-9a-f]{64}$/, 'expected SHA-256 in lower-case hex');

/** Opens a session; the same again is harmless, after `Close` it is refused. */
export const Open = z.object({
  session_id: id,
  source: z.enum(['seal', 'inner_loop', 'mcp', 'rest']),
  subject: ToolSubject,
  grant: ToolGrant,
  /** Ed25519, JWK `x`; null for sessions without an agent's key. */
  public_key: z.string().max(64).nullable(),
  /** ISO time at which it ends by itself; null: with its execution, or its one call. */
  expires_at: z.iso.datetime().nullable(),
});

export type OpenSession = z.input<typeof Open>;

/** Asked: decides, records, begins the effect. Answered by an `InvokeReply`; the result is the event `CallEnded`. */
export const Invoke = z.object({
  /** JSON-RPC id with its type in front: `n:1`, `s:abc`. */
  call: z
    .string()
    .max(300)
    .regex(/^[ns]:/, 'expected n: or s: and the id'),
  tool: z.string().max(200).nullable(),
  arguments: jsonField,
  /** SHA-256 of the canonical JSON of name and arguments, for the chain. */
  call_hash: hash,
  envelope_hash: hash.nullable(),
  /** The same call with the same payload is a repeat, with another it is refused. */
  payload_hash: hash,
  /** The session ends with this call. */
  last: z.boolean().optional(),
});

export type Invoke = z.output<typeof Invoke>;

/** What `Invoke` is answered. */
export const InvokeReply = z.discriminatedUnion('kind', [
  /** Runs: its end is the first `CallEnded` of this call behind `sequence`. */
  z.object({ kind: z.literal('accepted'), sequence: z.number().int(), replayed: z.boolean() }),
  /** A repeat; the event of that number is its `CallEnded`. */
  z.object({ kind: z.literal('ended'), sequence: z.number().int() }),
  z.object({ kind: z.literal('denied'), reason: z.string(), message: z.string() }),
  z.object({ kind: z.literal('inactive'), message: z.string() }),
  z.object({ kind: z.literal('invalid_request'), message: z.string() }),
]);

export type InvokeReply = z.output<typeof InvokeReply>;

/** What an execution did in its inner loop, for the chain. */
export const Record = z.object({ body: AuditRecord.shape.body });

/** A refused envelope whose token claimed this session. */
export const Refuse = z.object({ envelope_hash: hash, reason: text });

/** The execution has ended. Creates a closed session when none was opened yet. */
export const Close = z.object({ reason: text });

export const toolSessionMessages = {
  Open,
  Invoke,
  ToolEnded: EffectResult,
  Record,
  Refuse,
  Close,
  /** An operator ends it. */
  Revoke: z.object({ reason: text }),
  Expired: z.object({}),
} as const;

/** What an allowed call came to. */
export const CallResult = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('outcome'), outcome: ToolOutcome }),
  /** A limit or a change of the tool that shows only where it runs. */
  z.object({
    kind: z.literal('denied'),
    reason: z.string(),
    message: z.string(),
    retry_after_ms: z.number().optional(),
  }),
  /** It could not be run; `code` is one of the error table. */
  z.object({ kind: z.literal('failed'), code: z.string(), message: z.string() }),
]);

export type CallResult = z.output<typeof CallResult>;

/**
 * A session's events are its audit chain (manifests/audit): each payload is one `AuditRecord`, whose `sequence` is the
 * event's number. `CallEnded` also has the result itself, beside the record and not part of what is hashed (its hash
 * is): a repeat is answered with it, and no state has to hold it. Records of an inner loop have none.
 */
export const toolSessionEvents = {
  SessionOpened: AuditRecord,
  CallDecided: AuditRecord,
  CallEnded: AuditRecord.extend({ result: CallResult.optional() }),
  EnvelopeRefused: AuditRecord,
  CallReplayed: AuditRecord,
  SessionClosed: AuditRecord,
} as const;

export type ToolSessionEventName = keyof typeof toolSessionEvents;

/** What one session may cost. Each is far beyond what an agent that works needs. */
export const SESSION_LIMITS = {
  /**
   * Calls that are decided about, allowed or not; then further ones are refused by name. Each is remembered in the state,
   * some 150 bytes that every later turn writes again: what a session costs grows with the square of this.
   */
  calls: 2_000,
  /** Calls at once. */
  running: 64,
  /** Refused envelopes that are recorded; then one more record says that no further one is. */
  refusals: 10_000,
  /** Repeats that are recorded; further ones are answered all the same. */
  replays: 10_000,
} as const;

import { z } from 'zod';
import { AuditRecord } from '../../manifests/audit/record.ts';
import { ToolOutcome, ToolSubject } from '../../manifests/tool/call.ts';
import { ToolGrant } from '../../manifests/tool/scope.ts';
import { EffectResult } from '../../runtime/effect.ts';
import { jsonField } from '../../runtime/json.ts';

const id = z.string().min(1).max(128);

const text = z.string().max(2_000);

const hash = z.string().regex(/^[0-9a-f]{64}$/, 'expected SHA-256 in lower-case hex');

/** Opens a session. Repeating it changes nothing; after `Close` it is refused. */
export const Open = z.object({
  session_id: id,
  source: z.enum(['seal', 'inner_loop', 'mcp', 'rest']),
  subject: ToolSubject,
  grant: ToolGrant,
  /** Ed25519, JWK `x`; null for sessions without an agent's key. */
  public_key: z.string().max(64).nullable(),
  /** ISO time of its expiry; null: it ends with its execution, or with its only call. */
  expires_at: z.iso.datetime().nullable(),
});

export type OpenSession = z.input<typeof Open>;

/** Decides, records and begins a call. The answer is an `InvokeReply`; the result is the event `CallEnded`. */
export const Invoke = z.object({
  /** JSON-RPC id with its type as a prefix: `n:1`, `s:abc`. */
  call: z
    .string()
    .max(300)
    .regex(/^[ns]:/, 'expected n: or s: and the id'),
  tool: z.string().max(200).nullable(),
  arguments: jsonField,
  /** SHA-256 of the canonical JSON of name and arguments, for the chain. */
  call_hash: hash,
  envelope_hash: hash.nullable(),
  /** A call with the same id and payload is a repeat; with another payload it is refused. */
  payload_hash: hash,
  /** The session ends with this call. */
  last: z.boolean().optional(),
});

export type Invoke = z.output<typeof Invoke>;

/** Answer to `Invoke`. */
export const InvokeReply = z.discriminatedUnion('kind', [
  /** It runs: its end is the first `CallEnded` of this call after `sequence`. */
  z.object({ kind: z.literal('accepted'), sequence: z.number().int(), replayed: z.boolean() }),
  /** A repeat of a finished call: event `sequence` is its `CallEnded`. */
  z.object({ kind: z.literal('ended'), sequence: z.number().int() }),
  z.object({ kind: z.literal('denied'), reason: z.string(), message: z.string() }),
  z.object({ kind: z.literal('inactive'), message: z.string() }),
  z.object({ kind: z.literal('invalid_request'), message: z.string() }),
]);

export type InvokeReply = z.output<typeof InvokeReply>;

/** Decision or end of a call of an execution's inner loop. */
export const Record = z.object({ body: AuditRecord.shape.body });

/** A refused envelope whose token names this session. */
export const Refuse = z.object({ envelope_hash: hash, reason: text });

/** The execution has ended. Creates a closed session when none was opened. */
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

/** Result of an allowed call. */
export const CallResult = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('outcome'), outcome: ToolOutcome }),
  /** Denied by the node that runs it: by a limit, or because the tool has changed. */
  z.object({
    kind: z.literal('denied'),
    reason: z.string(),
    message: z.string(),
    retry_after_ms: z.number().optional(),
  }),
  /** It could not be run; `code` is in the error table. */
  z.object({ kind: z.literal('failed'), code: z.string(), message: z.string() }),
]);

export type CallResult = z.output<typeof CallResult>;

/**
 * A session's events are its audit chain (manifests/audit): each payload is an `AuditRecord` whose `sequence` is the event's
 * number. `CallEnded` has the result beside the record, which holds only its hash: repeats are answered with it, so the state
 * need not hold it. Records of an inner loop have no result.
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

/** Limits of one session, each far above the needs of an agent. */
export const SESSION_LIMITS = {
  /**
   * Calls that are decided, allowed or not; further ones are refused. Each takes about 150 bytes of the state, which
   * every later turn writes again: the cost of a session grows with the square of this.
   */
  calls: 2_000,
  /** Parallel calls. */
  running: 64,
  /** Refused envelopes that are recorded; one more record says that later ones are not. */
  refusals: 10_000,
  /** Repeats that are recorded; later ones are answered without a record. */
  replays: 10_000,
} as const;

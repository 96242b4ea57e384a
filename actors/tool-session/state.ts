import { z } from 'zod';
import { type AuditBody, nextRecord } from '../../manifests/audit/record.ts';
import { ToolSubject } from '../../manifests/tool/call.ts';
import type { ToolGrant } from '../../manifests/tool/scope.ts';
import type { Turn } from '../../runtime/define-actor.ts';
import {
  type CallResult,
  type InvokeReply,
  type Open,
  SESSION_LIMITS,
  type ToolSessionEventName,
  type toolSessionEvents,
  type toolSessionMessages,
} from './messages.ts';

const count = z.number().int();

/** Validated at `Open`, not at every call. */
const checked = <T extends object>() => z.custom<T>((value) => typeof value === 'object' && value !== null);

/** Record of a call until the session ends. It is small, since there may be thousands. */
interface CallRecord {
  readonly payload: string;
  /**
   * `denied` by policy, which decides the same each time; `deferred`: refused by a passing limit, so a repeat is decided again.
   */
  readonly status: 'running' | 'ended' | 'denied' | 'deferred';
  /** Event of its decision while it runs, then of its end. */
  readonly sequence: number;
}

const RunningCall = z.object({
  effect_id: z.string(),
  tool: z.string(),
  mode: z.enum(['repeatable', 'once']),
  /** Calls with the same capability share `max_concurrent`. */
  capability: z.string(),
  /** The session ends with this call. */
  last: z.boolean(),
});

export const ToolSessionState = z.object({
  status: z.enum(['new', 'active', 'closed', 'revoked']),
  /** Null: not opened. */
  session: z
    .object({
      source: z.enum(['seal', 'inner_loop', 'mcp', 'rest']),
      subject: ToolSubject,
      public_key: z.string().nullable(),
      expires_at: z.string().nullable(),
      opened_at: z.string(),
    })
    .nullable(),
  /** Null once it is closed. */
  grant: checked<ToolGrant>().nullable(),
  /** Last link of the audit chain; `sequence` is the number of the last event. */
  chain: z.object({ sequence: count, hash: z.string().nullable() }),
  calls: checked<Readonly<Record<string, CallRecord>>>(),
  running: z.record(z.string(), RunningCall),
  counts: z.object({ calls: count, denied: count, refused: count, replayed: count }),
});

export type ToolSessionState = z.output<typeof ToolSessionState>;

export type Session = NonNullable<ToolSessionState['session']>;

export const newSession: ToolSessionState = {
  status: 'new',
  session: null,
  grant: null,
  chain: { sequence: 0, hash: null },
  calls: {},
  running: {},
  counts: { calls: 0, denied: 0, refused: 0, replayed: 0 },
};

export const sessionOf = (open: z.output<typeof Open>, openedAt: string): Session => ({
  source: open.source,
  subject: open.subject,
  public_key: open.public_key,
  expires_at: open.expires_at,
  opened_at: openedAt,
});

/** Ids begin with their type, so none matches a property that every object has. */
export const callOf = ({ calls }: ToolSessionState, id: string): CallRecord | undefined => calls[id];

export type SessionTurn = Turn<typeof toolSessionEvents, typeof toolSessionMessages>;

const NAMES: Readonly<Record<AuditBody['kind'], ToolSessionEventName>> = {
  opened: 'SessionOpened',
  decided: 'CallDecided',
  ended: 'CallEnded',
  refused: 'EnvelopeRefused',
  replayed: 'CallReplayed',
  closed: 'SessionClosed',
};

export const timeOf = (turn: SessionTurn): string => new Date(turn.now).toISOString();

/** Emits an event: the next link of the chain. */
export function append(
  state: ToolSessionState,
  body: AuditBody,
  turn: SessionTurn,
  result?: CallResult,
): ToolSessionState {
  const record = nextRecord(state.chain, body, timeOf(turn));
  if (result === undefined) turn.emit(NAMES[body.kind], record);
  else turn.emit('CallEnded', { ...record, result });
  return { ...state, chain: { sequence: record.sequence, hash: record.hash } };
}

export const replyWith = (turn: SessionTurn, reply: InvokeReply): void => turn.reply(reply);

const SILENCE = 'further refusals of this session are not recorded';

/** Records a refused envelope or request. Anyone can send any number of them, so the records are limited. */
export function appendRefusal(
  state: ToolSessionState,
  refusal: { readonly envelope_hash: string; readonly reason: string },
  turn: SessionTurn,
): ToolSessionState {
  const { refused } = state.counts;
  if (refused > SESSION_LIMITS.refusals) return state;
  const reason = refused === SESSION_LIMITS.refusals ? SILENCE : refusal.reason;
  const counted = { ...state, counts: { ...state.counts, refused: refused + 1 } };
  return append(counted, { kind: 'refused', envelope_hash: refusal.envelope_hash, reason }, turn);
}

import { nextRecord } from '../../manifests/audit/chain.ts';
import type { AuditBody } from '../../manifests/audit/record.ts';
import type { Turn } from '../../runtime/define-actor.ts';
import type { CallResult, ToolSessionEventName, toolSessionEvents } from './events.ts';
import { SESSION_LIMITS } from './limits.ts';
import type { InvokeReply, toolSessionMessages } from './messages.ts';
import type { ToolSessionState } from './state.ts';

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

/** The one way an event comes about: the next link of the chain. */
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

/** A refused envelope, or a request that is no call: strangers may send them without end, so their records end. */
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

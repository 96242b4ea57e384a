import { append, replyWith, type SessionTurn } from './appending.ts';
import { SESSION_LIMITS } from './limits.ts';
import type { Invoke } from './messages.ts';
import { callOf, type ToolSessionState } from './state.ts';

/** The same call again: its record is the answer, and nothing runs. One that runs is waited for with the first. */
export function repeated(
  state: ToolSessionState,
  call: Invoke,
  turn: SessionTurn,
  denial: () => { readonly reason: string; readonly message: string } | null,
): ToolSessionState {
  const known = callOf(state, call.call);
  if (known?.status === 'running') {
    replyWith(turn, { kind: 'accepted', sequence: known.sequence, replayed: true });
  } else if (known?.status === 'ended') {
    replyWith(turn, { kind: 'ended', sequence: known.sequence });
  } else {
    const { reason, message } = denial() ?? { reason: 'ToolNotAllowed', message: 'the call was denied before' };
    replyWith(turn, { kind: 'denied', reason, message });
  }
  const { replayed } = state.counts;
  // Who caught an envelope can send it again and again: at some point it is only answered.
  if (call.envelope_hash === null || replayed >= SESSION_LIMITS.replays) return state;
  const counted = { ...state, counts: { ...state.counts, replayed: replayed + 1 } };
  return append(counted, { kind: 'replayed', call: call.call, envelope_hash: call.envelope_hash }, turn);
}

import { FLEET } from '../../fleet/address.ts';
import { changed } from '../change.ts';
import type { NodePeerTurn } from '../messages.ts';
import { type NodePeerState, nodeIdOf } from '../state.ts';
import { registered } from './command.ts';

/** How long a node that left keeps its count of words to the fleet: longer than any of them can be under way. */
export const FORGET_AFTER_MS = 3_600_000;

/** The node's own leave. Not registered, or with another key: not accepted, which is no error (original-facts 1.2). */
export function Deregister(
  state: NodePeerState,
  { reason, public_key_pem }: { readonly reason: string; readonly public_key_pem?: string | undefined },
  turn: NodePeerTurn,
): NodePeerState {
  const { peer } = state;
  if (peer === null || (public_key_pem !== undefined && public_key_pem !== peer.public_key_pem)) {
    turn.reply({ accepted: false, word: null });
    return state;
  }
  return leave(state, { peer_id: peer.peer_id, reason, by: '' }, turn);
}

/** An operator's: the key is forgotten too, so another one may attest for the id. */
export function Remove(state: NodePeerState, _: unknown, turn: NodePeerTurn): NodePeerState {
  const { peer_id } = registered(state, turn);
  return leave(state, { peer_id, reason: 'removed by an operator', by: turn.identity?.subject ?? '' }, turn);
}

function leave(
  state: NodePeerState,
  event: { readonly peer_id: string; readonly reason: string; readonly by: string },
  turn: NodePeerTurn,
): NodePeerState {
  turn.emit('peer_deregistered', event);
  turn.clear('silence');
  turn.after('left', FORGET_AFTER_MS, 'LeftLongAgo', {});
  const { state: next, word } = changed(state, null, 'registered', turn);
  turn.reply({ accepted: true, word });
  return next;
}

export function LeftLongAgo(state: NodePeerState, _: unknown, turn: NodePeerTurn): NodePeerState {
  if (state.peer !== null) return state;
  turn.tell(FLEET, 'Forget', { node_id: nodeIdOf(turn.self), revision: state.revision });
  return { ...state, forgotten: true };
}

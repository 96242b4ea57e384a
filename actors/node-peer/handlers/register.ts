import type { z } from 'zod';
import { changed, listen } from '../change.ts';
import type { NodePeerTurn, Register as RegisterMessage } from '../messages.ts';
import type { NodePeerState, Peer } from '../state.ts';

const IDLE = { active_execution_count: 0, cpu_utilization_percent: 0, memory_utilization_percent: 0 };

/** Upsert (spec 1, RegisterNode): the peer id stays, the capabilities are replaced, the node is ACTIVE. */
export const register =
  (heartbeatIntervalMs: number) =>
  (state: NodePeerState, message: z.output<typeof RegisterMessage>, turn: NodePeerTurn): NodePeerState => {
    const { peer: known } = state;
    if (known !== null && known.public_key_pem !== message.public_key_pem) return refuseKey(turn);
    // A drain that the node has not been told of still stands; one that it was told of ended with its earlier life.
    const drained = known?.commands.some(({ command }) => command === 'drain') ?? false;
    const peer: Peer = {
      ...message,
      peer_id: known?.peer_id ?? turn.newId(),
      status: drained ? 'DRAINING' : 'ACTIVE',
      drained,
      overdue: false,
      last_heartbeat_at: known?.last_heartbeat_at ?? '',
      load: IDLE,
      commands: known?.commands ?? [],
    };
    const { peer_id, role, capabilities, grpc_address } = peer;
    if (known === null || !sameAdvertisement(known, peer)) {
      turn.emit('peer_registered', { peer_id, role, capabilities, grpc_address });
    }
    turn.clear('left');
    listen(turn, heartbeatIntervalMs);
    const { state: next, word } = changed(state, peer, 'registered', turn);
    turn.reply({ peer_id, word });
    return next;
  };

/** Whether this key may attest for the node's id (decided.md "Identity"). While the node is not registered, each may. */
export function Admit(
  state: NodePeerState,
  { public_key_pem }: { readonly public_key_pem: string },
  turn: NodePeerTurn,
): NodePeerState {
  if (state.peer !== null && state.peer.public_key_pem !== public_key_pem) return refuseKey(turn);
  return state;
}

const refuseKey = (turn: NodePeerTurn): never =>
  turn.refuse('forbidden', 'the node id is registered with another key: deregister or remove it first');

const sameAdvertisement = (a: Peer, b: Peer): boolean =>
  JSON.stringify([a.role, a.capabilities, a.grpc_address]) === JSON.stringify([b.role, b.capabilities, b.grpc_address]);

import type { z } from 'zod';
import { changed, listen } from '../change.ts';
import type { Heartbeat as HeartbeatMessage, NodePeerTurn } from '../messages.ts';
import type { NodePeerState, Peer } from '../state.ts';

/**
 * Keeps load, time and what the node says of itself (decided.md "Nodes"), and hands it the commands that wait: they
 * leave the queue in the turn that answers them, so each is delivered once.
 */
export const heartbeat =
  (heartbeatIntervalMs: number) =>
  (state: NodePeerState, message: z.output<typeof HeartbeatMessage>, turn: NodePeerTurn): NodePeerState => {
    const { peer } = state;
    if (peer === null) return turn.refuse('failed_precondition', 'the node is not registered: register first');
    const { peer_id, status, ...load } = message;
    if (peer_id !== peer.peer_id) return turn.refuse('forbidden', 'peer_id: expected the one of this node');
    for (const command of peer.commands) turn.emit('command_delivered', { command });
    const beaten: Peer = {
      ...peer,
      load,
      status: peer.drained && status === 'ACTIVE' ? 'DRAINING' : status,
      overdue: false,
      last_heartbeat_at: new Date(turn.now).toISOString(),
      commands: [],
    };
    listen(turn, heartbeatIntervalMs);
    const { state: next, word } = changed(state, beaten, 'heartbeat', turn);
    turn.reply({ commands: peer.commands, word });
    return next;
  };

/** Two intervals of silence: no new work, a third one decides. */
export const heartbeatOverdue =
  (heartbeatIntervalMs: number) =>
  (state: NodePeerState, _: unknown, turn: NodePeerTurn): NodePeerState => {
    if (state.peer === null) return state;
    turn.after('silence', heartbeatIntervalMs, 'HeartbeatsMissed', {});
    return changed(state, { ...state.peer, overdue: true }, 'heartbeat', turn).state;
  };

export function HeartbeatsMissed(state: NodePeerState, _: unknown, turn: NodePeerTurn): NodePeerState {
  if (state.peer === null) return state;
  return changed(state, { ...state.peer, status: 'UNHEALTHY' }, 'heartbeats_missed', turn).state;
}

import { FLEET, type RosterEntry, type RosterUpdate } from '../fleet/roster.ts';
import type { NodePeerTurn } from './messages.ts';
import { type NodePeerState, nodeIdOf, type Peer } from './state.ts';

type StatusReason = 'registered' | 'heartbeat' | 'heartbeats_missed' | 'drained_by_operator';

interface Changed {
  readonly state: NodePeerState;
  /**
   * The update that was sent to the fleet; null when none of the data that it stores has changed. The API sends it again before
   * it answers.
   */
  readonly update: RosterUpdate | null;
}

/** The state with `peer`; sends the change to the fleet and emits its events. */
export function changed(state: NodePeerState, peer: Peer | null, reason: StatusReason, turn: NodePeerTurn): Changed {
  const { peer: before } = state;
  if (before !== null && peer !== null && before.status !== peer.status) {
    turn.emit('peer_status_changed', { from: before.status, to: peer.status, reason });
  }
  const entry = entryOf(peer);
  if (JSON.stringify(entry) === JSON.stringify(entryOf(before))) return { state: { ...state, peer }, update: null };
  const revision = state.revision + 1;
  const update: RosterUpdate = { node_id: nodeIdOf(turn.self), revision, entry };
  turn.tell(FLEET, 'Hear', update);
  return { state: { ...state, peer, revision }, update };
}

function entryOf(peer: Peer | null): RosterEntry | null {
  if (peer === null) return null;
  const { role, status, overdue, capabilities, grpc_address } = peer;
  return { role, status, overdue, capabilities, grpc_address };
}

/** Restarts the timers that detect missing heartbeats. */
export function listen(turn: NodePeerTurn, heartbeatIntervalMs: number): void {
  turn.after('silence', 2 * heartbeatIntervalMs, 'HeartbeatOverdue', {});
}

import { z } from 'zod';
import { FLEET, type RosterEntry, type RosterWord } from '../fleet/roster.ts';
import { QueuedCommand } from './commands.ts';
import type { NodePeerTurn } from './messages.ts';
import { CapabilitySet, type NodePeerState, NodeRoleName, nodeIdOf, type Peer, PeerStatus } from './state.ts';

/** What happened to a node, for people who follow it. Heartbeats that change nothing are no events. */
export const nodePeerEvents = {
  /** First registration, and each later one that changes something. */
  peer_registered: z.object({
    peer_id: z.string(),
    role: NodeRoleName,
    capabilities: CapabilitySet,
    grpc_address: z.string(),
  }),
  peer_status_changed: z.object({
    from: PeerStatus,
    to: PeerStatus,
    reason: z.enum(['registered', 'heartbeat', 'heartbeats_missed', 'drained_by_operator']),
  }),
  /** `by`: subject of the operator; empty for a change of configuration. */
  command_queued: z.object({ command: QueuedCommand, by: z.string() }),
  command_delivered: z.object({ command: QueuedCommand }),
  /** `by`: subject of the operator who removed it; empty when the node left by itself. */
  peer_deregistered: z.object({ peer_id: z.string(), reason: z.string(), by: z.string() }),
} as const;

type StatusReason = 'registered' | 'heartbeat' | 'heartbeats_missed' | 'drained_by_operator';

interface Changed {
  readonly state: NodePeerState;
  /** What the fleet was told, null when nothing it keeps has changed. The api repeats it before it answers. */
  readonly word: RosterWord | null;
}

/** The state with `peer` in it; tells the fleet and the event stream what is new for them. */
export function changed(state: NodePeerState, peer: Peer | null, reason: StatusReason, turn: NodePeerTurn): Changed {
  const { peer: before } = state;
  if (before !== null && peer !== null && before.status !== peer.status) {
    turn.emit('peer_status_changed', { from: before.status, to: peer.status, reason });
  }
  const entry = entryOf(peer);
  if (JSON.stringify(entry) === JSON.stringify(entryOf(before))) return { state: { ...state, peer }, word: null };
  const revision = state.revision + 1;
  const word: RosterWord = { node_id: nodeIdOf(turn.self), revision, entry };
  turn.tell(FLEET, 'Hear', word);
  return { state: { ...state, peer, revision }, word };
}

function entryOf(peer: Peer | null): RosterEntry | null {
  if (peer === null) return null;
  const { role, status, overdue, capabilities, grpc_address } = peer;
  return { role, status, overdue, capabilities, grpc_address };
}

/** Begins to count the silence anew. */
export function listen(turn: NodePeerTurn, heartbeatIntervalMs: number): void {
  turn.after('silence', 2 * heartbeatIntervalMs, 'HeartbeatOverdue', {});
}

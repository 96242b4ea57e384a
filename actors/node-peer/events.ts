import { z } from 'zod';
import { QueuedCommand } from './commands.ts';
import { CapabilitySet, NodeRoleName, PeerStatus } from './state.ts';

/** Events of a node, for people who watch it. A heartbeat that changes nothing emits none. */
export const nodePeerEvents = {
  /** The first registration, and each later one with a change. */
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

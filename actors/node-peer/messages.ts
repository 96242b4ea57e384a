import { z } from 'zod';
import type { Turn } from '../../runtime/define-actor.ts';
import type { nodePeerEvents } from './events.ts';
import { CapabilitySet, GrpcAddress, Load, NodeRoleName, PeerStatus } from './state.ts';

const key = z.string().min(1).max(1_000);
const reason = z.string().max(1_000);

/** The only message that creates a peer: an id that never registered leaves no trace. */
export const Register = z.object({
  role: NodeRoleName,
  capabilities: CapabilitySet,
  grpc_address: GrpcAddress,
  public_key_pem: key,
});

export const Heartbeat = Load.extend({ peer_id: z.string().min(1).max(128), status: PeerStatus });

export const Shutdown = z.object({ reason });

export const nodePeerMessages = {
  Register,
  /** Whether this key may attest for the node's id. */
  Admit: z.object({ public_key_pem: key }),
  Heartbeat,
  /** The node leaves. */
  Deregister: z.object({ reason, public_key_pem: key.optional() }),
  /** Sent by an operator. */
  Drain: z.object({}),
  Shutdown,
  Remove: z.object({}),
  /** From the fleet: there is a new configuration to fetch. */
  SyncConfig: z.object({ config_version: z.string().min(1).max(64) }),
  /** Timers: after two intervals without a heartbeat, after three, and long after the node left. */
  HeartbeatOverdue: z.object({}),
  HeartbeatsMissed: z.object({}),
  LeftLongAgo: z.object({}),
} as const;

export type NodePeerTurn = Turn<typeof nodePeerEvents, typeof nodePeerMessages>;

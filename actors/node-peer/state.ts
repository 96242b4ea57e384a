import { z } from 'zod';
import type { Address } from '../../runtime/address.ts';
import { addressOf, parseAddress } from '../../runtime/address.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { CapabilitySet, GrpcAddress, Load, NodeRoleName, PeerStatus } from './capabilities.ts';
import { MOST_COMMANDS, QueuedCommand } from './commands.ts';

/** A registered node. */
export const Peer = z.object({
  peer_id: z.string(),
  /** Pinned from registration until the node is deregistered or removed. */
  public_key_pem: z.string(),
  role: NodeRoleName,
  capabilities: CapabilitySet,
  grpc_address: GrpcAddress,
  status: PeerStatus,
  /** An operator drained it: heartbeats cannot undo that, a new registration does. */
  drained: z.boolean(),
  /** No heartbeat for two intervals: it gets no new work, though nothing is said about its health yet. */
  overdue: z.boolean(),
  /** ISO 8601; empty before the first. */
  last_heartbeat_at: z.string(),
  load: Load,
  commands: z.array(QueuedCommand).max(MOST_COMMANDS),
});
export type Peer = z.output<typeof Peer>;

export const NodePeerState = z.object({
  /** Null: not registered. */
  peer: Peer.nullable(),
  /** Counts what the fleet was told, so that it never takes an older word for a newer one. */
  revision: z.number().int(),
  /** Not registered for so long that nothing of it needs to be kept. */
  forgotten: z.boolean(),
});
export type NodePeerState = z.output<typeof NodePeerState>;

export const peerAddress = (nodeId: string): Address => addressOf('node-peer', SYSTEM_TENANT, nodeId);
export const nodeIdOf = (address: Address): string => parseAddress(address).id;

import { z } from 'zod';
import { CapabilitySet, GrpcAddress, NodeId, NodeRoleName, PeerStatus } from '../node-peer/capabilities.ts';

/** What routing needs to know of a node. Load and time of the last heartbeat stay with the node's own actor. */
export const RosterEntry = z.object({
  role: NodeRoleName,
  status: PeerStatus,
  overdue: z.boolean(),
  capabilities: CapabilitySet,
  grpc_address: GrpcAddress,
});
export type RosterEntry = z.output<typeof RosterEntry>;

/** What a node peer tells the fleet; `entry` null: it has left. Of two words on a node the higher revision is newer. */
export const RosterWord = z.object({
  node_id: NodeId,
  revision: z.number().int().min(1),
  entry: RosterEntry.nullable(),
});
export type RosterWord = z.output<typeof RosterWord>;

export const FleetState = z.object({
  /** By node id. A node that left stays as its revision until its own actor is forgotten. */
  rows: z.record(z.string(), z.object({ revision: z.number().int(), entry: RosterEntry.nullable() })),
  /** Newest managed configuration; empty: none was ever set. */
  config_hash: z.string(),
});
export type FleetState = z.output<typeof FleetState>;

/** Most registered nodes. */
export const MOST_NODES = 10_000;

/** Ids of registered nodes, in order. */
export const nodeIds = ({ rows }: FleetState): string[] =>
  Object.keys(rows)
    .filter((id) => rows[id]?.entry !== null)
    .sort();

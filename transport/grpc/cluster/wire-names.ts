import type { Capabilities, NodeCommand, NodePeer, NodePeerStatus, NodeRole } from '../../../actors/node-peer/api.ts';
import {
  type NodeCapabilityAdvertisement,
  type NodeCommand as WireCommand,
  type NodePeer as WirePeer,
  NodeRole as WireRole,
  NodePeerStatus as WireStatus,
} from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../../runtime/errors.ts';

const ROLES: ReadonlyMap<number, NodeRole> = new Map([
  [WireRole.CONTROLLER, 'CONTROLLER'],
  [WireRole.WORKER, 'WORKER'],
  [WireRole.HYBRID, 'HYBRID'],
]);

const STATUSES: ReadonlyMap<number, NodePeerStatus> = new Map([
  [WireStatus.ACTIVE, 'ACTIVE'],
  [WireStatus.DRAINING, 'DRAINING'],
  [WireStatus.UNHEALTHY, 'UNHEALTHY'],
]);

export const invalid = (field: string, expected: string): SvcError =>
  new SvcError('invalid_argument', `${field}: expected ${expected}`, { field });

/** Throws `invalid_argument` for a number that names nothing. */
export const roleOf = (number: number): NodeRole => named(ROLES, number, 'role');

/** Throws `invalid_argument` for a number that names nothing. */
export const statusNamed = (number: number, field: string): NodePeerStatus => named(STATUSES, number, field);

function named<Name extends string>(names: ReadonlyMap<number, Name>, number: number, field: string): Name {
  const name = names.get(number);
  if (name !== undefined) return name;
  throw invalid(field, [...names].map(([value, one]) => `${one} (${value})`).join(', '));
}

const capabilitiesToWire = (has: Capabilities): NodeCapabilityAdvertisement => ({
  ...has,
  supported_runtimes: [...has.supported_runtimes],
  tags: [...has.tags],
});

export const peerToWire = (peer: NodePeer): WirePeer => ({
  node_id: peer.node_id,
  role: WireRole[peer.role],
  capabilities: capabilitiesToWire(peer.capabilities),
  last_heartbeat_at: peer.last_heartbeat_at,
  status: WireStatus[peer.status],
  grpc_address: peer.grpc_address,
});

export function commandToWire(command: NodeCommand): WireCommand {
  switch (command.command) {
    case 'drain':
      return { command: { $case: 'drain', value: { drain: true } } };
    case 'shutdown':
      return { command: { $case: 'shutdown', value: { reason: command.reason } } };
    case 'sync_config': {
      // The text itself is fetched with SyncConfig, so a heartbeat stays small.
      const value = { config_version: command.config_version, config_payload: Buffer.alloc(0) };
      return { command: { $case: 'sync_config', value } };
    }
  }
}

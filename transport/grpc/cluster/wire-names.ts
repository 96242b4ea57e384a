import { isIPv6 } from 'node:net';
import type { Metadata } from '@grpc/grpc-js';
import { readAgentManifest } from '../../../catalog/manifest-reading.ts';
import type { AgentManifest } from '../../../manifests/agent/schema.ts';
import {
  type ForwardExecutionRequest,
  type NodeCapabilityAdvertisement,
  type NodeCommand as WireCommand,
  type NodePeer as WirePeer,
  NodeRole as WireRole,
  NodePeerStatus as WireStatus,
} from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { invalidField, SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { UUID } from '../../../runtime/random.ts';
import type { StartExecution } from '../../../usecases/executions.ts';
import type { Capabilities, NodeCommand, NodePeer, NodePeerStatus, NodeRole } from '../../../usecases/node-api.ts';
import { single } from '../access.ts';
import { contextOf } from '../execute-agent.ts';
import type { GrpcLimits } from '../limits.ts';

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

/** The role of a wire number. Throws `invalid_argument` for an unknown number. */
export const roleOf = (number: number): NodeRole => named(ROLES, number, 'role');

/** The status of a wire number. Throws `invalid_argument` for an unknown number. */
export const statusNamed = (number: number, field: string): NodePeerStatus => named(STATUSES, number, field);

function named<Name extends string>(names: ReadonlyMap<number, Name>, number: number, field: string): Name {
  const name = names.get(number);
  if (name !== undefined) return name;
  throw invalidField(field, `expected ${[...names].map(([value, one]) => `${one} (${value})`).join(', ')}`);
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
      // The node fetches the text itself with SyncConfig, so that a heartbeat stays small.
      const value = { config_version: command.config_version, config_payload: Buffer.alloc(0) };
      return { command: { $case: 'sync_config', value } };
    }
  }
}

/** Metadata key of RegisterNode for the address of the node's own NodeClusterService (G25). */
export const NODE_ADDRESS_KEY = 'svc-node-grpc-address';

const DEFAULT_PORT = 50_056;

const ADDRESS = /^(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9][A-Za-z0-9._-]{0,252})):(\d{1,5})$/;

/**
 * `host:port` of the node that registers: the address that it gives, else the address that it calls from with the
 * default port. Throws `invalid_argument` for a bad address.
 */
export function nodeAddress(metadata: Metadata, peer: string): string {
  const said = single(metadata, NODE_ADDRESS_KEY);
  return said === undefined ? `${callerHost(peer)}:${DEFAULT_PORT}` : checked(said);
}

function checked(address: string): string {
  const [, ipv6, , port] = ADDRESS.exec(address) ?? [];
  const number = Number(port);
  if (number >= 1 && number <= 65_535 && (ipv6 === undefined || isIPv6(ipv6))) return address;
  throw invalidField(NODE_ADDRESS_KEY, 'expected host:port, an IPv6 address in brackets');
}

/**
 * The host of a caller. The library reports `address:port`, IPv6 without brackets, and IPv4 callers of a dual-stack
 * socket as IPv6.
 */
export function callerHost(peer: string): string {
  const ip = peer.slice(0, peer.lastIndexOf(':')).replace(/^::ffff:(?=\d+\.)/, '');
  if (ip === '') throw new SvcError('invalid_argument', `${NODE_ADDRESS_KEY}: expected host:port`);
  return isIPv6(ip) ? `[${ip}]` : ip;
}

const MAX_AGENT_ID_CHARS = 128;

/** Validates and lower-cases a UUID. Throws `invalid_argument` naming the field. */
export function uuidOf(id: string, field: string): string {
  if (!UUID.test(id)) throw invalidField(field, 'expected a UUID');
  return id.toLowerCase();
}

/**
 * The execution that a controller forwards to this worker, to be started in a partition that this worker owns (P4).
 * Throws `invalid_argument` naming the field, `invalid_manifest` with path and line of each problem.
 */
export async function forwardedStart(
  request: ForwardExecutionRequest,
  identity: Identity,
  limits: GrpcLimits,
): Promise<StartExecution> {
  const { agent_id, input } = request;
  const executionId = uuidOf(request.execution_id, 'execution_id');
  if (agent_id === '' || agent_id.length > MAX_AGENT_ID_CHARS)
    throw invalidField('agent_id', 'expected the id of an agent');
  return {
    context: await contextOf(request.context_json, limits),
    executionId,
    agentId: agent_id,
    manifest: await manifestOf(request.manifest_yaml),
    input,
    identity,
    here: true,
  };
}

async function manifestOf(text: string): Promise<AgentManifest> {
  const parsed = await readAgentManifest(text);
  if (parsed.ok) return parsed.manifest;
  const [first] = parsed.problems;
  const message = `manifest_yaml: ${first === undefined ? 'not a manifest' : `${first.path}: ${first.message}`}`;
  throw new SvcError('invalid_manifest', message, { field: 'manifest_yaml', details: parsed.problems });
}

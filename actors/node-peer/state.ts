import { createPublicKey } from 'node:crypto';
import { z } from 'zod';
import { expectation } from '../../manifests/expectation.ts';
import { endpoint, NodeSelf, tag } from '../../manifests/node/cluster.ts';
import { type Address, addressOf, parseAddress } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { MOST_COMMANDS, QueuedCommand } from './commands.ts';

export const NodeRoleName = z.enum(['CONTROLLER', 'WORKER', 'HYBRID']);

export const PeerStatus = z.enum(['ACTIVE', 'DRAINING', 'UNHEALTHY']);

/** The form of node ids, the same as in the node's settings. */
export const NodeId = NodeSelf.shape.id.unwrap();

export const GrpcAddress = endpoint;

const count = z.number().int().min(0).max(4_294_967_295);

const amount = z.number().min(0).max(1_000_000_000);

/** NodeCapabilityAdvertisement (G23), bounded. */
export const CapabilitySet = z.object({
  gpu_count: count,
  vram_gb: amount,
  cpu_cores: count,
  available_memory_gb: amount,
  supported_runtimes: z.array(z.string().min(1).max(64)).max(64),
  tags: z.array(tag).max(64),
});

/** Requirement of an execution: minimums, and every runtime and tag it names (G28). */
export const Requirement = CapabilitySet.partial();

export type Requirement = z.output<typeof Requirement>;

/** Load of a node, as each heartbeat reports it. */
export const Load = z.object({
  active_execution_count: count,
  cpu_utilization_percent: amount,
  memory_utilization_percent: amount,
});

/** A registered node. */
export const Peer = z.object({
  peer_id: z.string(),
  /** Pinned from registration until the node is deregistered or removed. */
  public_key_pem: z.string(),
  role: NodeRoleName,
  capabilities: CapabilitySet,
  grpc_address: GrpcAddress,
  status: PeerStatus,
  /** An operator drained it: a heartbeat does not undo that, but a new registration does. */
  drained: z.boolean(),
  /** No heartbeat for two intervals: it gets no new work, but its status does not change yet. */
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
  /** Counts updates to the fleet, which ignores older ones. */
  revision: z.number().int(),
  /** Unregistered for so long that all its data is deleted. */
  forgotten: z.boolean(),
});

export type NodePeerState = z.output<typeof NodePeerState>;

export const peerAddress = (nodeId: string): Address => addressOf('node-peer', SYSTEM_TENANT, nodeId);

export const nodeIdOf = (address: Address): string => parseAddress(address).id;

/**
 * The canonical form of a key, so that keys can be compared. Throws `invalid_argument` for anything but an Ed25519
 * public key.
 */
export function canonicalPublicKey(pem: string): string {
  // A private key would be accepted here, with its public half used, but it must never be sent.
  if (pem.length > 1_000 || !pem.trimStart().startsWith('-----BEGIN PUBLIC KEY-----')) throw notAKey();
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType !== 'ed25519') throw notAKey();
    return key.export({ type: 'spki', format: 'pem' }).toString();
  } catch (cause) {
    throw notAKey(cause);
  }
}

const notAKey = (cause?: unknown): SvcError =>
  new SvcError('invalid_argument', 'public_key_pem: expected an Ed25519 public key (SPKI, PEM)', {
    field: 'public_key_pem',
    cause,
  });

/** `value` parsed by the schema. Throws `invalid_argument` with the field below `name` and what was expected. */
export function checked<T>(schema: z.ZodType<T>, value: unknown, name = ''): T {
  const result = schema.safeParse(value, { error: expectation });
  if (result.success) return result.data;
  const details = result.error.issues.slice(0, 20).map((issue) => ({
    path: [name, ...issue.path].filter((part) => part !== '').join('.'),
    message: issue.message,
  }));
  const field = details[0]?.path ?? name;
  throw new SvcError('invalid_argument', `${field}: ${details[0]?.message ?? 'malformed'}`, { field, details });
}

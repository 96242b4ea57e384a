import type { NodeCommand } from '../actors/node-peer/commands.ts';
import type { Identity } from '../runtime/identity.ts';

export type { NodeCommand } from '../actors/node-peer/commands.ts';

/** Role names on the wire (G22). */
export type NodeRole = 'CONTROLLER' | 'WORKER' | 'HYBRID';

export type NodePeerStatus = 'ACTIVE' | 'DRAINING' | 'UNHEALTHY';

/**
 * NodeCapabilityAdvertisement (G23). As a requirement, numbers are minimums and a node needs all the runtimes and tags
 * listed.
 */
export interface Capabilities {
  readonly gpu_count: number;
  readonly vram_gb: number;
  readonly cpu_cores: number;
  readonly available_memory_gb: number;
  readonly supported_runtimes: readonly string[];
  readonly tags: readonly string[];
}

export interface NodePeer {
  readonly node_id: string;
  readonly role: NodeRole;
  readonly capabilities: Capabilities;
  /** ISO 8601; empty before the first heartbeat. */
  readonly last_heartbeat_at: string;
  readonly status: NodePeerStatus;
  readonly grpc_address: string;
  readonly peer_id: string;
  readonly active_execution_count: number;
  readonly cpu_utilization_percent: number;
  readonly memory_utilization_percent: number;
  /** Commands that the node gets with its next heartbeat. */
  readonly pending_commands: readonly NodeCommand[];
}

/** Configuration that controllers manage for all nodes, with its SHA-256 in lower-case hex. */
export interface ManagedConfig {
  /** The text; its first line is a comment with the version. */
  readonly config_yaml: string;
  readonly config_hash: string;
  /** Grows with each new configuration; 0 before the first. */
  readonly version: number;
}

/**
 * The API of registered nodes for the transports. Every call is a message to `node-peer/…`, `node-challenge/…` or the
 * one `fleet/…` (P3). All controllers share this state, so any of them may answer and any may fail.
 */
export interface NodePeerApi {
  /**
   * Starts an attestation (G17). Throws `invalid_argument` for a bad id or key, and `forbidden` for role CONTROLLER and
   * for a known node id with another key.
   */
  attest(request: {
    readonly nodeId: string;
    readonly publicKeyPem: string;
    readonly role: NodeRole;
  }): Promise<{ readonly challengeNonce: string; readonly challengeId: string }>;
  /**
   * Finishes an attestation; returns the node's identity when the signature is valid. Throws `unauthenticated` for an
   * unknown, used or expired challenge and for a bad signature.
   */
  answerChallenge(request: {
    readonly challengeId: string;
    readonly signature: Uint8Array;
  }): Promise<{ readonly nodeId: string; readonly role: NodeRole; readonly publicKeyPem: string }>;
  /**
   * Creates or updates the registration; `route` and `list` see it at once. `publicKeyPem` is the key of the node's
   * token: it is pinned until the node is deregistered or removed. Throws `forbidden` for a known node id with another
   * key, and `invalid_argument`.
   */
  register(
    nodeId: string,
    node: {
      readonly role: NodeRole;
      readonly capabilities: Capabilities;
      readonly grpcAddress: string;
      readonly publicKeyPem: string;
    },
  ): Promise<{ readonly peerId: string }>;
  /** Throws `failed_precondition` before registration, `forbidden` for the peer id of another node. */
  heartbeat(
    nodeId: string,
    beat: {
      readonly peerId: string;
      readonly activeExecutionCount: number;
      readonly cpuUtilizationPercent: number;
      readonly memoryUtilizationPercent: number;
      readonly status: NodePeerStatus;
    },
  ): Promise<{ readonly commands: readonly NodeCommand[] }>;
  /** Returns false for a node that is not registered, or not with the given key. */
  deregister(nodeId: string, reason: string, publicKeyPem?: string): Promise<{ readonly accepted: boolean }>;
  /**
   * Chooses a healthy matching worker, round-robin (G28). Throws `unavailable` when no worker is healthy,
   * `no_capable_worker` naming what is missing when no worker matches.
   */
  route(required: Partial<Capabilities>): Promise<{ readonly nodeId: string; readonly grpcAddress: string }>;
  list(filterStatus?: NodePeerStatus): Promise<readonly NodePeer[]>;
  /** Throws `not_found`. */
  get(nodeId: string): Promise<NodePeer>;
  /**
   * Whether the node is registered, and with this key when one is given. A token alone is not enough for
   * RouteExecution, ListPeers and SyncConfig: the token of an earlier owner of the node id must fail.
   */
  isRegistered(nodeId: string, publicKeyPem?: string): Promise<boolean>;
  /** Sets the node to DRAINING and queues the command, on behalf of an operator. Throws `not_found`. */
  drain(nodeId: string, by: Identity): Promise<void>;
  shutdown(nodeId: string, reason: string, by: Identity): Promise<void>;
  /** Removes a node and its key, so that it may attest with another key. */
  remove(nodeId: string, by: Identity): Promise<void>;
  config(): Promise<ManagedConfig>;
  /**
   * Sets the configuration of all nodes and queues sync_config for each. `managedConfig` (manifests) has validated the
   * text. `madeFrom`: hash of the configuration that this one was made from; throws `conflict` when it was changed since.
   */
  setConfig(configYaml: string, by: Identity, madeFrom?: string): Promise<ManagedConfig>;
}

import type { NodeCommand } from '../actors/node-peer/commands.ts';
import type { Identity } from '../runtime/identity.ts';

export type { NodeCommand } from '../actors/node-peer/commands.ts';

/** Names of the wire (G22). */
export type NodeRole = 'CONTROLLER' | 'WORKER' | 'HYBRID';

export type NodePeerStatus = 'ACTIVE' | 'DRAINING' | 'UNHEALTHY';

/** NodeCapabilityAdvertisement (G23). As a requirement: minimums, and all runtimes and tags named. */
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
  /** Commands that wait for the next heartbeat. */
  readonly pending_commands: readonly NodeCommand[];
}

/** Configuration that controllers manage for all nodes, and its SHA-256 in lower-case hex. */
export interface ManagedConfig {
  /** With its version in its first line, a comment. */
  readonly config_yaml: string;
  readonly config_hash: string;
  /** Grows with each that is set; 0 before the first. */
  readonly version: number;
}

/**
 * Node peers as the transports call them: everything is a message to `node-peer/…`, `node-challenge/…` or the one
 * `fleet/…` (P3). All controllers share this state, so any of them may answer and any may die.
 */
export interface NodePeerApi {
  /**
   * Begins an attestation (G17). Throws `invalid_argument` for a bad id or key, `forbidden` for role CONTROLLER and
   * for a known node id with another key.
   */
  attest(request: {
    readonly nodeId: string;
    readonly publicKeyPem: string;
    readonly role: NodeRole;
  }): Promise<{ readonly challengeNonce: string; readonly challengeId: string }>;
  /**
   * Ends it; who the node is when the signature holds. Throws `unauthenticated` for an unknown, used or expired
   * challenge and for a bad signature.
   */
  answerChallenge(request: {
    readonly challengeId: string;
    readonly signature: Uint8Array;
  }): Promise<{ readonly nodeId: string; readonly role: NodeRole; readonly publicKeyPem: string }>;
  /**
   * Upsert. Read at once by `route` and `list`. `publicKeyPem` is the key of the node's token: it is pinned until the
   * node is deregistered or removed. Throws `forbidden` for a known node id with another key, `invalid_argument`.
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
  /** False for a node that is not registered, or not with the key when one is given. */
  deregister(nodeId: string, reason: string, publicKeyPem?: string): Promise<{ readonly accepted: boolean }>;
  /**
   * Round-robin over healthy matching workers (G28). `route` throws `unavailable` when no worker is healthy,
   * `no_capable_worker` naming what is missing when none fits.
   */
  route(required: Partial<Capabilities>): Promise<{ readonly nodeId: string; readonly grpcAddress: string }>;
  list(filterStatus?: NodePeerStatus): Promise<readonly NodePeer[]>;
  /** Throws `not_found`. */
  get(nodeId: string): Promise<NodePeer>;
  /**
   * Whether the node is registered, and with this key when one is given: a token alone is not enough for
   * RouteExecution, ListPeers, SyncConfig, and a token of an earlier owner of the node id is none.
   */
  isRegistered(nodeId: string, publicKeyPem?: string): Promise<boolean>;
  /** An operator's word: DRAINING, and the command is queued. Throws `not_found`. */
  drain(nodeId: string, by: Identity): Promise<void>;
  shutdown(nodeId: string, reason: string, by: Identity): Promise<void>;
  /** Forgets a node, its key included: it may attest with another one. */
  remove(nodeId: string, by: Identity): Promise<void>;
  config(): Promise<ManagedConfig>;
  /** Sets what all nodes get and queues sync_config for each. The text was checked by `managedConfig` (manifests). */
  setConfig(configYaml: string, by: Identity): Promise<ManagedConfig>;
}

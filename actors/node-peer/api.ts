import { z } from 'zod';
import { type ErrorCode, SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';
import type { Random } from '../../runtime/random.ts';
import { ChallengeAnswer, challengeAddress } from '../node-challenge/definition.ts';
import { QueuedCommand } from './commands.ts';
import { Heartbeat, Register } from './messages.ts';
import { type NodePeerClient, operations, type PeerCalls, peerCalls, rosterReads } from './peer-calls.ts';
import { canonicalPublicKey, checked, NodeId, NodeRoleName } from './state.ts';

/** Names of the wire (spec 1, Enum NodeRole, NodePeerStatus). */
export type NodeRole = 'CONTROLLER' | 'WORKER' | 'HYBRID';

export type NodePeerStatus = 'ACTIVE' | 'DRAINING' | 'UNHEALTHY';

/** NodeCapabilityAdvertisement (spec 1). As a requirement: minimums, and all runtimes and tags named. */
export interface Capabilities {
  readonly gpu_count: number;
  readonly vram_gb: number;
  readonly cpu_cores: number;
  readonly available_memory_gb: number;
  readonly supported_runtimes: readonly string[];
  readonly tags: readonly string[];
}

/** What a heartbeat brings back, each command once (decided.md "Nodes"). */
export type NodeCommand =
  | { readonly command: 'drain' }
  | { readonly command: 'shutdown'; readonly reason: string }
  | { readonly command: 'sync_config'; readonly config_version: string };

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
 * `fleet/…` (design P3). All controllers share this state, so any of them may answer and any may die.
 */
export interface NodePeerApi {
  /**
   * Begins an attestation (spec 1). Throws `invalid_argument` for a bad id or key, `forbidden` for role CONTROLLER and
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
   * Round-robin over healthy matching workers (spec 1, rule 1). `route` throws `unavailable` when no worker is healthy,
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

/** `NodePeerApi` over messages and committed states. Keeps nothing itself: every controller has one of its own. */
export function createNodePeerApi(parts: {
  readonly client: NodePeerClient;
  readonly random: Pick<Random, 'uuid'>;
  /** A cryptographic source: nonces come from it. */
  readonly randomBytes: (size: number) => Uint8Array;
}): NodePeerApi {
  const calls = peerCalls(parts.client, parts.random);
  return {
    ...attestation(calls, parts.randomBytes),
    ...membership(calls),
    ...rosterReads(calls),
    ...operations(calls),
  };
}

type Membership = Pick<NodePeerApi, 'register' | 'heartbeat' | 'deregister' | 'isRegistered'>;

const Registered = z.object({ peer_id: z.string() });

const Beaten = z.object({ commands: z.array(QueuedCommand) });

const Left = z.object({ accepted: z.boolean() });

const MOST_REASON_CHARS = 1_000;

/** What a node says of itself (spec 1, steps 4 to 6). */
function membership({ find, ask, askPeer, tellFleet }: PeerCalls): Membership {
  return {
    async register(nodeId, node) {
      const message = checked(Register, {
        role: node.role,
        capabilities: node.capabilities,
        grpc_address: node.grpcAddress,
        public_key_pem: canonicalPublicKey(node.publicKeyPem),
      });
      const answer = await askPeer(nodeId, 'Register', message).catch((thrown: unknown) => {
        throw hasCode(thrown, 'failed_precondition') ? leaving() : thrown;
      });
      await tellFleet(answer).catch(async (thrown: unknown) => {
        // The fleet is full. A node that nobody can see must not believe that it is in it.
        if (hasCode(thrown, 'failed_precondition')) await ask(nodeId, 'Deregister', { reason: 'the fleet is full' });
        throw thrown;
      });
      return { peerId: Registered.parse(answer).peer_id };
    },

    async heartbeat(nodeId, beat) {
      const message = checked(Heartbeat, {
        peer_id: beat.peerId,
        active_execution_count: beat.activeExecutionCount,
        cpu_utilization_percent: beat.cpuUtilizationPercent,
        memory_utilization_percent: beat.memoryUtilizationPercent,
        status: beat.status,
      });
      try {
        return { commands: Beaten.parse(await ask(nodeId, 'Heartbeat', message)).commands };
      } catch (thrown) {
        if (!hasCode(thrown, 'not_found')) throw thrown;
        throw new SvcError('failed_precondition', 'the node is not registered: register first');
      }
    },

    async deregister(nodeId, reason, publicKeyPem) {
      const message: JsonObject = { reason: reason.slice(0, MOST_REASON_CHARS) };
      if (publicKeyPem !== undefined) message.public_key_pem = canonicalPublicKey(publicKeyPem);
      try {
        return { accepted: Left.parse(await ask(nodeId, 'Deregister', message)).accepted };
      } catch (thrown) {
        if (!hasCode(thrown, 'not_found')) throw thrown;
        return { accepted: false };
      }
    },

    async isRegistered(nodeId, publicKeyPem) {
      const peer = await find(nodeId);
      return peer !== null && (publicKeyPem === undefined || peer.public_key_pem === canonicalPublicKey(publicKeyPem));
    },
  };
}

const hasCode = (thrown: unknown, code: ErrorCode): boolean => thrown instanceof SvcError && thrown.code === code;

/** The moment between the end of a node's old actor and its leaving the store. */
const leaving = (): SvcError =>
  new SvcError('unavailable', 'what was kept of the node is being cleared away: register again', {
    retryAfterMs: 1_000,
  });

const NONCE_BYTES = 32;

const SIGNATURE_BYTES = 64;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Attestation of strangers (spec 1, sequence of attestation and registration, steps 1 to 3). */
function attestation(
  { client, random, admit }: PeerCalls,
  randomBytes: (size: number) => Uint8Array,
): Pick<NodePeerApi, 'attest' | 'answerChallenge'> {
  return {
    async attest(request) {
      const nodeId = checked(NodeId, request.nodeId, 'node_id');
      const publicKeyPem = canonicalPublicKey(request.publicKeyPem);
      const role = checked(NodeRoleName, request.role, 'role');
      if (role === 'CONTROLLER') throw new SvcError('forbidden', 'role: expected WORKER or HYBRID', { field: 'role' });
      await admit(nodeId, publicKeyPem);
      const challengeId = random.uuid();
      const challengeNonce = Buffer.from(randomBytes(NONCE_BYTES)).toString('base64url');
      const claim = { node_id: nodeId, public_key_pem: publicKeyPem, role, nonce: challengeNonce };
      await client.ask(challengeAddress(challengeId), 'Issue', claim);
      return { challengeNonce, challengeId };
    },

    async answerChallenge({ challengeId, signature }) {
      if (!UUID.test(challengeId)) throw refused();
      // A signature of another length is a wrong one, and uses the challenge up like any other.
      const whole = signature.length === SIGNATURE_BYTES ? signature : new Uint8Array();
      const signature_base64 = Buffer.from(whole).toString('base64');
      const { proven } = ChallengeAnswer.parse(
        await client
          .ask(challengeAddress(challengeId.toLowerCase()), 'Answer', { signature_base64 })
          .catch((thrown: unknown) => {
            throw thrown instanceof SvcError && thrown.code === 'not_found' ? refused() : thrown;
          }),
      );
      if (proven === null) throw refused();
      // Another key may have been registered since the challenge was issued.
      await admit(proven.node_id, proven.public_key_pem);
      return { nodeId: proven.node_id, role: proven.role, publicKeyPem: proven.public_key_pem };
    },
  };
}

/** One text for all reasons: a stranger learns nothing of what went wrong. */
const refused = (): SvcError =>
  new SvcError('unauthenticated', 'the challenge is unknown, used or expired, or the signature is wrong');

import { z } from 'zod';
import { ChallengeAnswer, challengeAddress } from '../actors/node-challenge/definition.ts';
import { QueuedCommand } from '../actors/node-peer/commands.ts';
import { Heartbeat, Register } from '../actors/node-peer/messages.ts';
import { canonicalPublicKey, checked, NodeId, NodeRoleName } from '../actors/node-peer/state.ts';
import { type ErrorCode, SvcError } from '../runtime/errors.ts';
import type { JsonObject } from '../runtime/json.ts';
import type { Random } from '../runtime/random.ts';
import { UUID } from '../runtime/random.ts';
import type { NodePeerApi } from './node-api.ts';
import { type NodePeerClient, operations, type PeerCalls, peerCalls, rosterReads } from './node-calls.ts';

/**
 * Implements `NodePeerApi` over messages and committed states. Has no state of its own, so every controller creates
 * one.
 */
export function createNodePeerApi(parts: {
  readonly client: NodePeerClient;
  readonly random: Pick<Random, 'uuid'>;
  /** A cryptographic source, since it makes the nonces. */
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

const HeartbeatAnswer = z.object({ commands: z.array(QueuedCommand) });

const Left = z.object({ accepted: z.boolean() });

const MOST_REASON_CHARS = 1_000;

/** Registration, heartbeats and deregistration: the reports of a node about itself (G17). */
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
        // The fleet is full. A node that is in no list must learn that it is not registered.
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
        return { commands: HeartbeatAnswer.parse(await ask(nodeId, 'Heartbeat', message)).commands };
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

/** The error while a node's old actor has ended and has not left the store yet. */
const leaving = (): SvcError =>
  new SvcError('unavailable', 'the earlier registration of the node is being removed: register again', {
    retryAfterMs: 1_000,
  });

const NONCE_BYTES = 32;

const SIGNATURE_BYTES = 64;

/** Attestation of nodes that are not registered yet (G17). */
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
      // A signature of another length is treated as a wrong one: it uses the challenge up.
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
      // Checks again, because another key may have been registered since the challenge was issued.
      await admit(proven.node_id, proven.public_key_pem);
      return { nodeId: proven.node_id, role: proven.role, publicKeyPem: proven.public_key_pem };
    },
  };
}

/** One text for all reasons, so that an attacker cannot learn what was wrong. */
const refused = (): SvcError =>
  new SvcError('unauthenticated', 'the challenge is unknown, used or expired, or the signature is wrong');

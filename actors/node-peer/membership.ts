import { z } from 'zod';
import { type ErrorCode, SvcError } from '../../runtime/errors.ts';
import type { JsonObject } from '../../runtime/json.ts';
import type { NodePeerApi } from './api.ts';
import { checked } from './checked.ts';
import { QueuedCommand } from './commands.ts';
import { Heartbeat, Register } from './messages.ts';
import type { PeerCalls } from './peer-calls.ts';
import { canonicalPublicKey } from './public-key.ts';

type Membership = Pick<NodePeerApi, 'register' | 'heartbeat' | 'deregister' | 'isRegistered'>;

const Registered = z.object({ peer_id: z.string() });
const Beaten = z.object({ commands: z.array(QueuedCommand) });
const Left = z.object({ accepted: z.boolean() });
const MOST_REASON_CHARS = 1_000;

/** What a node says of itself (spec 1, steps 4 to 6). */
export function membership({ find, ask, askPeer, tellFleet }: PeerCalls): Membership {
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

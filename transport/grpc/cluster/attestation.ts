import {
  AttestNodeRequest,
  AttestNodeResponse,
  ChallengeNodeRequest,
  ChallengeNodeResponse,
} from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { single } from '../access.ts';
import { decoded, type UnaryInBytes } from '../service.ts';
import { type UnaryCall, unary } from '../unary.ts';
import { type RequestType, requireSize } from './envelope.ts';
import { callerHost } from './node-address.ts';
import type { ClusterParts } from './parts.ts';
import { roleOf } from './wire-names.ts';

/** Metadata of AttestNode on a fleet that does not let every node in. */
const JOIN_TOKEN_KEY = 'svc-join-token';

/** AttestNode and ChallengeNode (spec 1, node attestation, steps 1 and 3): the two that need no token yet. */
export function attestation(parts: ClusterParts): {
  readonly attestNode: UnaryInBytes;
  readonly challengeNode: UnaryInBytes;
} {
  const bounded = boundedCalls(parts);
  return {
    attestNode: bounded(AttestNodeRequest, async ({ node_id, public_key_pem, role }, call) => {
      const asked = { nodeId: node_id, publicKeyPem: public_key_pem, role: roleOf(role) };
      const from = callerHost(call.getPeer());
      const joining = await parts.joins.admit({ ...asked, from }, single(call.metadata, JOIN_TOKEN_KEY));
      const { challengeNonce, challengeId } = await parts.peers.attest(asked);
      // A token is used up by a node that nothing else is against.
      await joining.settle();
      return AttestNodeResponse.encode({ challenge_nonce: challengeNonce, challenge_id: challengeId }).finish();
    }),
    challengeNode: bounded(ChallengeNodeRequest, async ({ challenge_id, signature }) => {
      const node = await parts.peers.answerChallenge({ challengeId: challenge_id, signature });
      const { token, expiresAt } = await parts.tokens.issue(node);
      const expires_at = new Date(expiresAt).toISOString();
      return ChallengeNodeResponse.encode({ node_security_token: token, expires_at }).finish();
    }),
  };
}

/** Strangers may ask, so their calls are small, and together no more than the node can bear. */
function boundedCalls(parts: ClusterParts) {
  const { attestations, attestationBytes } = parts.limits;
  let underWay = 0;
  return <T>(message: RequestType<T>, handle: (request: T, call: UnaryCall) => Promise<Uint8Array>): UnaryInBytes =>
    unary(parts, async (call) => {
      if (underWay >= attestations) {
        throw new SvcError('rate_limited', 'too many attestations are under way', { retryAfterMs: 1_000 });
      }
      underWay += 1;
      try {
        requireSize(call.request, attestationBytes);
        return await handle(decoded(message, call.request), call);
      } finally {
        underWay -= 1;
      }
    });
}

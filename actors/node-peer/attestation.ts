import { SvcError } from '../../runtime/errors.ts';
import { challengeAddress } from '../node-challenge/definition.ts';
import { ChallengeAnswer } from '../node-challenge/state.ts';
import type { NodePeerApi } from './api.ts';
import { NodeId, NodeRoleName } from './capabilities.ts';
import { checked } from './checked.ts';
import type { PeerCalls } from './peer-calls.ts';
import { canonicalPublicKey } from './public-key.ts';

const NONCE_BYTES = 32;
const SIGNATURE_BYTES = 64;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Attestation of strangers (spec 1, sequence of attestation and registration, steps 1 to 3). */
export function attestation(
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

import { type KeyObject, sign, verify } from 'node:crypto';
import { SvcError } from '../runtime/errors.ts';
import { isSameSecret } from './constant-time.ts';
import { INVALID_NODE_TOKEN, type NodeIdentity, type NodeTokens } from './node-tokens.ts';
import { bearerToken } from './signed-token.ts';

/** SealNodeEnvelope (G21) as received. */
export interface NodeEnvelope {
  readonly node_security_token: string;
  readonly signature: Uint8Array;
  readonly payload: Uint8Array;
}

const MISSING = 'A node token is needed, as bearer token and in a signed envelope.';
const SIGNATURE_BYTES = 64;

/**
 * The sender of a request in a SealNodeEnvelope (G21). The token must be in metadata `authorization` and in the envelope, and its
 * node must have signed the payload bytes, empty ones too. Throws `unauthenticated` (missing, expired or invalid, without the
 * failed check), `unavailable` when the controllers' keys cannot be read.
 */
export async function openNodeEnvelope(
  { tokens }: { readonly tokens: Pick<NodeTokens, 'verify'> },
  authorization: string | undefined,
  envelope: NodeEnvelope,
): Promise<NodeIdentity> {
  const token = bearerToken(authorization);
  if (token === undefined || envelope.node_security_token === '') throw new SvcError('unauthenticated', MISSING);
  if (!isSameSecret(token, envelope.node_security_token)) throw invalid();
  const node = await tokens.verify(token);
  const { signature, payload } = envelope;
  if (signature.length !== SIGNATURE_BYTES || !verify(null, payload, node.publicKey, signature)) throw invalid();
  return node;
}

/** Seals a request of a node. `payload` is the serialized request, `privateKey` the Ed25519 key that the token names. */
export function sealNodeEnvelope(token: string, privateKey: KeyObject, payload: Uint8Array): NodeEnvelope {
  return { node_security_token: token, signature: sign(null, payload, privateKey), payload };
}

const invalid = (): SvcError => new SvcError('unauthenticated', INVALID_NODE_TOKEN);

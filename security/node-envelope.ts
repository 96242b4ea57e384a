import { hash, type KeyObject, sign, timingSafeEqual, verify } from 'node:crypto';
import { SvcError } from '../runtime/errors.ts';
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
 * Who sent a request that came in a SealNodeEnvelope (G21): the
 * token must stand in metadata `authorization` and in the envelope, and its node must have signed the payload bytes as
 * they arrived; an empty payload is one. Throws `unauthenticated` (missing, expired, or not valid: never which check),
 * `unavailable` when the controllers' keys cannot be had.
 */
export async function openNodeEnvelope(
  { tokens }: { readonly tokens: Pick<NodeTokens, 'verify'> },
  authorization: string | undefined,
  envelope: NodeEnvelope,
): Promise<NodeIdentity> {
  const token = bearerToken(authorization);
  if (token === undefined || envelope.node_security_token === '') throw new SvcError('unauthenticated', MISSING);
  if (!isSame(token, envelope.node_security_token)) throw invalid();
  const node = await tokens.verify(token);
  const { signature, payload } = envelope;
  if (signature.length !== SIGNATURE_BYTES || !verify(null, payload, node.publicKey, signature)) throw invalid();
  return node;
}

/** The envelope a node sends: `payload` is the serialized request, `privateKey` the Ed25519 key its token names. */
export function sealNodeEnvelope(token: string, privateKey: KeyObject, payload: Uint8Array): NodeEnvelope {
  return { node_security_token: token, signature: sign(null, payload, privateKey), payload };
}

/** Compares digests, which have one length and tell nothing by the time it takes. */
const isSame = (a: string, b: string): boolean =>
  timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));

const invalid = (): SvcError => new SvcError('unauthenticated', INVALID_NODE_TOKEN);

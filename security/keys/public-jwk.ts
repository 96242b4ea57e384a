import { createPublicKey, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { z } from 'zod';

const MIN_MODULUS_BITS = 2_048;
const MAX_MODULUS_BITS = 8_192;

/** An RS256 public key as it stands in a JWKS: never a private part. */
export const PublicJwk = z.object({
  kty: z.literal('RSA'),
  n: z.string().max(2_048),
  e: z.string().max(16),
  kid: z.string().length(43),
  alg: z.literal('RS256'),
  use: z.literal('sig'),
});
export type PublicJwk = z.infer<typeof PublicJwk>;

/**
 * The JWK of an RSA public key. Its `kid` is the thumbprint of RFC 7638, so an id stands for this key and no other,
 * whoever says so: a transit key that was deleted and made again under its old name gets another id.
 * Throws a `TypeError` for any other kind of key.
 */
export async function publicJwkOf(key: KeyObject): Promise<PublicJwk> {
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== 'rsa' || bits < MIN_MODULUS_BITS || bits > MAX_MODULUS_BITS) {
    throw new TypeError(`expected an RSA key of ${MIN_MODULUS_BITS} to ${MAX_MODULUS_BITS} bits`);
  }
  const { n, e } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' });
  if (typeof n !== 'string' || typeof e !== 'string') throw new TypeError('the key has no modulus');
  return { kty: 'RSA', n, e, kid: await thumbprint({ kty: 'RSA', n, e }), alg: 'RS256', use: 'sig' };
}

/** The key of a JWK that came from elsewhere, or null when it is none of ours or its `kid` is not its thumbprint. */
export async function keyOfJwk(value: unknown): Promise<{ readonly jwk: PublicJwk; readonly key: KeyObject } | null> {
  const jwk = PublicJwk.safeParse(value);
  if (!jwk.success) return null;
  try {
    const key = createPublicKey({ key: { kty: 'RSA', n: jwk.data.n, e: jwk.data.e }, format: 'jwk' });
    const computed = await publicJwkOf(key);
    return computed.kid === jwk.data.kid ? { jwk: computed, key } : null;
  } catch (error) {
    // Node says TypeError or an OpenSSL error of its own: either way it is no key.
    if (error instanceof Error) return null;
    throw error;
  }
}

const thumbprint = (jwk: JWK): Promise<string> => calculateJwkThumbprint(jwk, 'sha256');

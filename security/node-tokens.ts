import { createPublicKey, type KeyObject } from 'node:crypto';
import { type CryptoKey, errors, type JWK, jwtVerify } from 'jose';
import { z } from 'zod';
import type { Clock } from '../runtime/clock.ts';
import { SvcError } from '../runtime/errors.ts';
import type { NodeIdentity, NodeTokens, SigningKeys } from './api.ts';
import type { FindKey, PublishedKeys } from './keys/published-keys.ts';
import { NODE_TOKEN_TTL_MS } from './keys/retention.ts';
import { parsePublicKeyPem } from './node-key.ts';

/** `iss` and `aud` of every node token: no token made for anything else passes for one. */
export const NODE_TOKEN_ISSUER = 'svc-controller';
export const NODE_TOKEN_AUDIENCE = 'svc-cluster';

const MAX_TOKEN_LENGTH = 4_096;
const CLOCK_TOLERANCE_S = 5;
const MAX_SIGN_ATTEMPTS = 3;
const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/;

export const INVALID_NODE_TOKEN = 'The node token or the signature of its envelope is not valid.';
export const EXPIRED_NODE_TOKEN = 'The node token has expired.';

const NodeId = z
  .string()
  .min(1)
  .max(256)
  .regex(/^\P{Cc}+$/u);
const Role = z.enum(['CONTROLLER', 'WORKER', 'HYBRID']);
const Claims = z.object({
  sub: NodeId,
  role: Role,
  iat: z.number().int(),
  exp: z.number().int(),
  cnf: z.strictObject({
    jwk: z.strictObject({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string().length(43) }),
  }),
});
type Claims = z.infer<typeof Claims>;

export interface NodeTokensParts {
  readonly keys: SigningKeys;
  readonly published: PublishedKeys;
  readonly clock: Clock;
}

/**
 * Node tokens of a controller (spec 1; decided.md "Identity"). A key is published before the first token of it leaves,
 * so every other controller can verify it. Whoever only verifies makes no key.
 */
export function createNodeTokens({ keys, published, clock }: NodeTokensParts): NodeTokens {
  return {
    issue: (node) => issue(node, { keys, published, clock }),
    verify: createNodeTokenVerifier(published, clock),
    keySet: async () => ({ keys: await published.all() }),
  };
}

/** `NodeTokens.verify` for a node that has public keys alone, such as `createRemoteKeys`. */
export function createNodeTokenVerifier(keys: FindKey, clock: Clock): NodeTokens['verify'] {
  return async (token) => {
    try {
      return await verify(token, keys, clock);
    } catch (error) {
      if (error instanceof SvcError) throw error;
      // jose looks at `exp` only after the signature, so "expired" tells nothing about a token that is not ours.
      const expired = error instanceof errors.JWTExpired;
      if (
        !expired &&
        !(error instanceof errors.JOSEError || error instanceof z.ZodError || error instanceof TypeError)
      ) {
        throw new SvcError('internal', undefined, { cause: error });
      }
      const reason = new Error(error.name);
      throw new SvcError('unauthenticated', expired ? EXPIRED_NODE_TOKEN : INVALID_NODE_TOKEN, { cause: reason });
    }
  };
}

async function verify(token: string, keys: FindKey, clock: Clock): Promise<NodeIdentity> {
  if (token.length > MAX_TOKEN_LENGTH) throw new errors.JWTInvalid('too long');
  const verified = await jwtVerify(token, (header) => keyNamed(header.kid, keys), {
    algorithms: ['RS256'],
    issuer: NODE_TOKEN_ISSUER,
    audience: NODE_TOKEN_AUDIENCE,
    requiredClaims: ['sub', 'role', 'iat', 'exp', 'cnf'],
    clockTolerance: CLOCK_TOLERANCE_S,
    currentDate: new Date(clock.now()),
  });
  const claims = Claims.parse(verified.payload);
  // Keys are kept for as long as their tokens may live: nothing of ours lives longer.
  if ((claims.exp - claims.iat) * 1_000 > NODE_TOKEN_TTL_MS) throw new errors.JWTInvalid('lives too long');
  return {
    nodeId: claims.sub,
    role: claims.role,
    publicKey: publicKeyOf(claims.cnf.jwk),
    expiresAt: claims.exp * 1_000,
  };
}

async function keyNamed(kid: string | undefined, keys: FindKey): Promise<KeyObject | CryptoKey> {
  // What is no thumbprint costs no look-up.
  if (kid === undefined || !THUMBPRINT.test(kid)) throw new errors.JWKSNoMatchingKey();
  const key = await keys.find(kid);
  if (key === null) throw new errors.JWKSNoMatchingKey();
  return key;
}

function publicKeyOf(jwk: Claims['cnf']['jwk']): KeyObject {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' });
  } catch (error) {
    throw new errors.JWTInvalid('cnf is no Ed25519 key', { cause: error });
  }
}

async function issue(
  node: Parameters<NodeTokens['issue']>[0],
  { keys, published, clock }: NodeTokensParts,
): Promise<{ readonly token: string; readonly expiresAt: number }> {
  const jwk = parsePublicKeyPem(node.publicKeyPem).export({ format: 'jwk' });
  if (!NodeId.safeParse(node.nodeId).success) {
    throw new SvcError('invalid_argument', 'node_id: expected 1 to 256 characters, none of them a control character', {
      field: 'node_id',
    });
  }
  const iat = Math.floor(clock.now() / 1_000);
  const exp = iat + NODE_TOKEN_TTL_MS / 1_000;
  const claims = {
    iss: NODE_TOKEN_ISSUER,
    aud: NODE_TOKEN_AUDIENCE,
    sub: node.nodeId,
    role: node.role,
    iat,
    exp,
    cnf: { jwk: { kty: jwk.kty, crv: jwk.crv, x: jwk.x } },
  };
  return { token: await signed(claims, keys, published), expiresAt: exp * 1_000 };
}

/** The header names the key before it signs: when another one signed, a rotation came between and it is done again. */
async function signed(claims: object, keys: SigningKeys, published: PublishedKeys): Promise<string> {
  for (let attempt = 1; attempt <= MAX_SIGN_ATTEMPTS; attempt += 1) {
    const [newest]: readonly (JWK | undefined)[] = await keys.publicKeys();
    if (newest === undefined) throw new SvcError('internal', 'the signing keys show none');
    await published.publish(newest);
    const input = `${encoded({ alg: 'RS256', typ: 'JWT', kid: newest.kid })}.${encoded(claims)}`;
    const { kid, signature } = await keys.sign(Buffer.from(input));
    if (kid === newest.kid) return `${input}.${Buffer.from(signature).toString('base64url')}`;
  }
  throw new SvcError('unavailable', 'The signing key changes all the time.', { retryAfterMs: 1_000 });
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

import { createPublicKey, type KeyObject } from 'node:crypto';
import type { CryptoKey, JWK, JWTPayload } from 'jose';
import { z } from 'zod';
import { jose } from '../manifests/late-libraries.ts';
import type { Clock } from '../runtime/clock.ts';
import { SvcError } from '../runtime/errors.ts';
import type { KeySet } from './key-set.ts';
import { type FindKey, NODE_TOKEN_TTL_MS, type PublishedKeys } from './keys/published-keys.ts';
import type { RealmSettings } from './settings.ts';

/** Private keys behind a port (S3): files, or a key-management service. One RS256 key signs, several verify. */
export interface SigningKeys {
  open(): Promise<void>;
  /** RSASSA-PKCS1-v1_5 with SHA-256 by the key in force. */
  sign(data: Uint8Array): Promise<{ readonly kid: string; readonly signature: Uint8Array }>;
  /** Public keys that may still have valid tokens, as JWKs with `kid`, `alg`, `use`; newest first. */
  publicKeys(): Promise<readonly JWK[]>;
  /** Creates a new signing key; older keys remain valid for verification. */
  rotate(): Promise<void>;
  close(): Promise<void>;
}

/** Maximum lifetime of a token, for which public keys are kept (keys/published-keys.ts). */
export const MAX_TOKEN_LIFE_MS = NODE_TOKEN_TTL_MS;

export const MAX_TOKEN_LENGTH = 4_096;

const CLOCK_TOLERANCE_S = 5;

const MAX_SIGN_ATTEMPTS = 3;

const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/;

/** `cnf` of RFC 7800: the Ed25519 key of the token's subject. */
export const Confirmation = z.strictObject({
  jwk: z.strictObject({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string().length(43) }),
});

export type Confirmation = z.output<typeof Confirmation>;

/** Issue and expiry time of every token, in Unix seconds. */
export const Lifetime = { iat: z.number().int(), exp: z.number().int() };

export interface SigningParts {
  readonly keys: SigningKeys;
  readonly published: PublishedKeys;
}

/** Checks that distinguish one kind of token from all others. */
interface TokenRules {
  /** Header `typ`; absent for node tokens, which differ by `iss` and `aud`. */
  readonly typ?: string;
  readonly issuer: string;
  readonly audience: string | readonly string[];
  /** Error texts, which never tell the failed check. */
  readonly invalid: string;
  readonly expired: string;
}

type Lived = { readonly iat: number; readonly exp: number };

/** Signs a compact JWS with the node's RS256 key. The key is published first, so that every other node can verify it. */
export async function signCompact(payload: object, typ: string, { keys, published }: SigningParts): Promise<string> {
  // The header names a key before it signs. When a rotation came in between, another key signed: sign again.
  for (let attempt = 1; attempt <= MAX_SIGN_ATTEMPTS; attempt += 1) {
    const [newest]: readonly (JWK | undefined)[] = await keys.publicKeys();
    if (newest === undefined) throw new SvcError('internal', 'the signing keys return no public key');
    await published.publish(newest);
    const input = `${encoded({ alg: 'RS256', typ, kid: newest.kid })}.${encoded(payload)}`;
    const { kid, signature } = await keys.sign(Buffer.from(input));
    if (kid === newest.kid) return `${input}.${Buffer.from(signature).toString('base64url')}`;
  }
  throw new SvcError('unavailable', 'The signing key changed several times during signing; try again.', {
    retryAfterMs: 1_000,
  });
}

/**
 * Verifies tokens of one kind and returns what `read` makes of their claims. Throws `unauthenticated` with one of two fixed
 * texts, or `unavailable` when the keys cannot be read.
 */
export function createTokenVerifier<C extends Lived, T>(
  find: FindKey,
  clock: Clock,
  rules: TokenRules,
  claims: z.ZodType<C>,
  read: (claims: C) => T,
): (token: string) => Promise<T> {
  return async (token) => {
    try {
      return read(await verifiedClaims(token, find, clock, rules, claims));
    } catch (error) {
      throw refusalOf(error, rules);
    }
  };
}

async function verifiedClaims<C extends Lived>(
  token: string,
  find: FindKey,
  clock: Clock,
  rules: TokenRules,
  schema: z.ZodType<C>,
): Promise<C> {
  if (token.length > MAX_TOKEN_LENGTH) throw new (jose().errors.JWTInvalid)('too long');
  // Spare bits in the last character would allow several texts of one signature.
  const signature = token.slice(token.lastIndexOf('.') + 1);
  if (Buffer.from(signature, 'base64url').toString('base64url') !== signature)
    throw new (jose().errors.JWTInvalid)('not canonical');
  const verified = await jose().jwtVerify(token, (header) => keyNamed(header.kid, find), {
    algorithms: ['RS256'],
    issuer: rules.issuer,
    audience: typeof rules.audience === 'string' ? rules.audience : [...rules.audience],
    clockTolerance: CLOCK_TOLERANCE_S,
    currentDate: new Date(clock.now()),
    typ: rules.typ,
  });
  const claims = schema.parse(verified.payload);
  // Public keys are kept for the maximum lifetime only.
  if ((claims.exp - claims.iat) * 1_000 > MAX_TOKEN_LIFE_MS) throw new (jose().errors.JWTInvalid)('lives too long');
  return claims;
}

function refusalOf(error: unknown, { invalid, expired }: TokenRules): SvcError {
  if (error instanceof SvcError) return error;
  // jose checks `exp` after the signature, so "expired" reveals nothing about forged tokens.
  const isExpired = error instanceof jose().errors.JWTExpired;
  const isInvalid =
    error instanceof jose().errors.JOSEError || error instanceof z.ZodError || error instanceof TypeError;
  if (!isExpired && !isInvalid) return new SvcError('internal', undefined, { cause: error });
  return new SvcError('unauthenticated', isExpired ? expired : invalid, { cause: new Error(error.name) });
}

async function keyNamed(kid: string | undefined, keys: FindKey): Promise<KeyObject | CryptoKey> {
  // A malformed kid costs no look-up.
  if (kid === undefined || !THUMBPRINT.test(kid)) throw new (jose().errors.JWKSNoMatchingKey)();
  const key = await keys.find(kid);
  if (key === null) throw new (jose().errors.JWKSNoMatchingKey)();
  return key;
}

/** The key of a verified token. An invalid key makes the token invalid. */
export function confirmedKey({ jwk }: Confirmation): KeyObject {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' });
  } catch (error) {
    throw new (jose().errors.JWTInvalid)('cnf is not an Ed25519 key', { cause: error });
  }
}

/** `cnf` for an Ed25519 public key. */
export function confirmationOf(key: KeyObject): object {
  const { kty, crv, x } = key.export({ format: 'jwk' });
  return { jwk: { kty, crv, x } };
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];

/** Tolerated difference of clocks for `exp` and `nbf`. */
const CLOCK_SKEW_SECS = 30;

const MAX_LENGTH = 16 * 1024;

/** A realm with the keys that sign for it. */
export interface Realm {
  readonly settings: RealmSettings;
  readonly keys: KeySet;
}

/** The token of `Bearer <token>`, or undefined. */
export function bearerToken(authorization: string | undefined): string | undefined {
  const match = /^bearer +([A-Za-z0-9._~+/=-]+) *$/i.exec(authorization ?? '');
  const token = match?.[1];
  return token !== undefined && token.length <= MAX_LENGTH ? token : undefined;
}

/**
 * Claims of a token with valid signature, `iss`, `aud`, `exp` and `nbf` (H7). Throws an error of jose for an invalid token,
 * `unavailable` when the realm's keys cannot be read.
 */
export async function verifyToken(
  token: string,
  realms: ReadonlyMap<string, Realm>,
  clock: Clock,
): Promise<{ claims: JWTPayload; realm: RealmSettings }> {
  // Unverified: only selects the realm whose keys must verify the token.
  const realm = realms.get(jose().decodeJwt(token).iss ?? '');
  if (realm === undefined) throw new (jose().errors.JWTInvalid)('no realm has this issuer');
  if (typeof jose().decodeProtectedHeader(token).kid !== 'string')
    throw new (jose().errors.JWTInvalid)('header has no kid');
  const { settings, keys } = realm;
  const verified = await jose().jwtVerify(token, (header) => keys.keyFor(header), {
    algorithms: ALGORITHMS,
    issuer: settings.issuerUrl,
    audience: typeof settings.audience === 'string' ? settings.audience : [...settings.audience],
    requiredClaims: ['exp', 'sub'],
    clockTolerance: CLOCK_SKEW_SECS,
    currentDate: new Date(clock.now()),
  });
  return { claims: verified.payload, realm: settings };
}

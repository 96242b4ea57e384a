import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import type { Clock } from '../runtime/clock.ts';
import type { KeySet } from './key-set.ts';
import type { RealmSettings } from './settings.ts';

const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];
const MAX_TOKEN_LENGTH = 16 * 1024;

/** A realm with the keys that sign for it. */
export interface Realm {
  readonly settings: RealmSettings;
  readonly keys: KeySet;
}

/** The token of `Bearer <token>`, or undefined. */
export function bearerToken(authorization: string | undefined): string | undefined {
  const match = /^bearer +([A-Za-z0-9._~+/=-]+) *$/i.exec(authorization ?? '');
  const token = match?.[1];
  return token !== undefined && token.length <= MAX_TOKEN_LENGTH ? token : undefined;
}

/**
 * Claims of a token whose signature, `iss`, `aud`, `exp` and `nbf` hold (decided.md "Identity"). Throws an error of jose
 * for a bad token, `unavailable` when the realm's keys cannot be had.
 */
export async function verifyToken(
  token: string,
  realms: ReadonlyMap<string, Realm>,
  clock: Clock,
  clockSkewMs: number,
): Promise<{ claims: JWTPayload; realm: RealmSettings }> {
  // Unverified, and only to choose the realm whose keys then have to fit.
  const realm = realms.get(decodeJwt(token).iss ?? '');
  if (realm === undefined) throw new errors.JWTInvalid('no realm has this issuer');
  if (typeof decodeProtectedHeader(token).kid !== 'string') throw new errors.JWTInvalid('header has no kid');
  const { settings, keys } = realm;
  const verified = await jwtVerify(token, (header) => keys.keyFor(header), {
    algorithms: ALGORITHMS,
    issuer: settings.issuerUrl,
    audience: typeof settings.audience === 'string' ? settings.audience : [...settings.audience],
    requiredClaims: ['exp', 'sub'],
    clockTolerance: clockSkewMs / 1000,
    currentDate: new Date(clock.now()),
  });
  return { claims: verified.payload, realm: settings };
}

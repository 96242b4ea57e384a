import { createPublicKey, type KeyObject } from 'node:crypto';
import { SvcError } from '../../runtime/errors.ts';
import { parsePublicKeyPem } from '../node-key.ts';
import { decodeBase64 } from './base64.ts';
import { isStrongPoint } from './curve-point.ts';

const RAW_BYTES = 32;
/** DER before the raw key in the SPKI of an Ed25519 key (RFC 8410). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/**
 * The key of an attesting agent: PEM (SPKI) over gRPC, base64 of the 32 raw bytes or of the SPKI over REST (decided.md
 * "Identity"). Throws `invalid_argument` naming the field, also for points of small order and for what is no point.
 */
export function parseAgentPublicKey(given: { readonly pem: string } | { readonly base64: string }): KeyObject {
  if ('pem' in given) return checked(parsePublicKeyPem(given.pem), 'public_key_pem');
  const bytes = given.base64.length <= 256 ? decodeBase64(given.base64) : null;
  const raw = bytes?.length === RAW_BYTES ? bytes : rawOfSpki(bytes);
  if (raw === null) throw refused('agent_public_key', 'base64 of the 32 raw bytes or of the SPKI of an Ed25519 key');
  const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: 'der', type: 'spki' });
  return checked(key, 'agent_public_key');
}

/** JWK `x` of a key: what a session and its audit chain remember. */
export function publicKeyText(key: KeyObject): string {
  const { x } = key.export({ format: 'jwk' });
  if (x === undefined) throw new SvcError('internal', 'a key of an agent is no Ed25519 key');
  return x;
}

function checked(key: KeyObject, field: string): KeyObject {
  if (isStrongPoint(rawOf(key))) return key;
  throw refused(field, 'a point of the curve that is not of small order');
}

const rawOf = (key: KeyObject): Buffer => Buffer.from(publicKeyText(key), 'base64url');

function rawOfSpki(bytes: Buffer | null): Buffer | null {
  const isSpki =
    bytes?.length === SPKI_PREFIX.length + RAW_BYTES && bytes.subarray(0, SPKI_PREFIX.length).equals(SPKI_PREFIX);
  return bytes !== null && isSpki ? bytes.subarray(SPKI_PREFIX.length) : null;
}

const refused = (field: string, expected: string): SvcError =>
  new SvcError('invalid_argument', `${field}: expected ${expected}`, { field });

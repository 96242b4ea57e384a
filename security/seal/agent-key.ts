import { createPublicKey, type KeyObject } from 'node:crypto';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import { parsePublicKeyPem } from '../node-key.ts';

const RAW_BYTES = 32;

/** DER prefix of the raw key in the SPKI of an Ed25519 key (RFC 8410). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/**
 * Parses the public key of an attesting agent: PEM (SPKI) over gRPC, base64 of the 32 raw bytes or of the SPKI over REST (H17).
 * Throws `invalid_argument` naming the field, also for points of small order and for bytes that are not a point.
 */
export function parseAgentPublicKey(given: { readonly pem: string } | { readonly base64: string }): KeyObject {
  if ('pem' in given) return checked(parsePublicKeyPem(given.pem), 'public_key_pem');
  const bytes = given.base64.length <= 256 ? decodeBase64(given.base64) : null;
  const raw = bytes?.length === RAW_BYTES ? bytes : rawOfSpki(bytes);
  if (raw === null)
    throw invalidField('agent_public_key', 'expected base64 of the 32 raw bytes or of the SPKI of an Ed25519 key');
  const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: 'der', type: 'spki' });
  return checked(key, 'agent_public_key');
}

/** JWK `x` of a key, as stored in a session and its audit chain. */
export function publicKeyText(key: KeyObject): string {
  const { x } = key.export({ format: 'jwk' });
  if (x === undefined) throw new SvcError('internal', 'a key of an agent is not an Ed25519 key');
  return x;
}

function checked(key: KeyObject, field: string): KeyObject {
  if (isStrongPoint(rawOf(key))) return key;
  throw invalidField(field, 'expected a point of the curve that is not of small order');
}

const rawOf = (key: KeyObject): Buffer => Buffer.from(publicKeyText(key), 'base64url');

function rawOfSpki(bytes: Buffer | null): Buffer | null {
  const isSpki =
    bytes?.length === SPKI_PREFIX.length + RAW_BYTES && bytes.subarray(0, SPKI_PREFIX.length).equals(SPKI_PREFIX);
  return bytes !== null && isSpki ? bytes.subarray(SPKI_PREFIX.length) : null;
}

const P = 2n ** 255n - 19n;

/** -121665/121666, the constant of the curve -x² + y² = 1 + d·x²·y² (RFC 8032, 5.1). */
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

const SIGN_BIT = 2n ** 255n;

/**
 * Whether 32 bytes are the canonical form of a point of edwards25519 whose order is not small. Under a key of small order one
 * signature fits many messages, so its owner could deny what it signed.
 */
export function isStrongPoint(bytes: Uint8Array): boolean {
  const y = littleEndian(bytes) % SIGN_BIT;
  if (bytes.length !== 32 || y >= P) return false;
  // x² = (y² - 1) / (d·y² + 1). The divisor is never 0, since -1/d is not a square.
  const y2 = (y * y) % P;
  const x2 = (modulo(y2 - 1n) * power(D * y2 + 1n, P - 2n)) % P;
  const isOnCurve = power(x2, (P - 1n) / 2n) <= 1n;
  // Order 1 and 2: x = 0; order 4: y = 0; order 8: the doubled point has y = 0, so x² = -y².
  return isOnCurve && x2 !== 0n && y !== 0n && (x2 + y2) % P !== 0n;
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex') || '0'}`);
}

const modulo = (value: bigint): bigint => ((value % P) + P) % P;

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = modulo(base);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % P;
    square = (square * square) % P;
  }
  return result;
}

/**
 * Decodes base64 in its one canonical form: the standard alphabet with padding, or the URL alphabet without. Returns null for
 * anything else: white space, missing padding, spare bits, mixed alphabets.
 */
export function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text || bytes.toString('base64url') === text ? bytes : null;
}

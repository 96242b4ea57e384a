import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** What every API key begins with: scanners for leaked secrets look for it. */
const KEY_PREFIX = 'svc_';

const SECRET_BYTES = 32;
const SECRET_CHARS = 43;
const FORM = /^svc_[A-Za-z0-9_-]{49}$/;

/** A new key: `svc_`, 32 random bytes and a checksum, as base64url; 53 characters. */
export function makeKeyText(random: (bytes: number) => Uint8Array = randomBytes): string {
  const secret = Buffer.from(random(SECRET_BYTES)).toString('base64url');
  return `${KEY_PREFIX}${secret}${checksumOf(secret)}`;
}

/** Whether a bearer token wants to be an API key, well formed or not. */
export const looksLikeKey = (token: string): boolean => token.startsWith(KEY_PREFIX);

/** Well formed, with the checksum of its own secret: what was cut or mistyped costs no look into the store. */
export function isKeyText(text: string): boolean {
  if (!FORM.test(text)) return false;
  const secret = text.slice(KEY_PREFIX.length, KEY_PREFIX.length + SECRET_CHARS);
  return sameText(text.slice(KEY_PREFIX.length + SECRET_CHARS), checksumOf(secret));
}

/** What is stored of a key. It holds 256 random bits, so a plain SHA-256 cannot be guessed back. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Compares in a time that does not depend on where two texts of one length differ. */
export function sameText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function checksumOf(secret: string): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(secret));
  return sum.toString('base64url');
}

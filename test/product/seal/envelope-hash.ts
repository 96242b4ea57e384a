import { createHash } from 'node:crypto';
import type { Sent } from './transports.ts';

/**
 * `envelope_hash` as docs/reference/seal.md defines it: five parts in order, each after its length in eight bytes, big
 * endian.
 */
export function envelopeHash(sent: Sent): string {
  const hash = createHash('sha256');
  for (const field of ['payload', 'security_token', 'signature', 'timestamp', 'protocol']) {
    const value = sent[field];
    const bytes = Buffer.isBuffer(value) ? value : Buffer.from(typeof value === 'string' ? value : '');
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(bytes.length));
    hash.update(length).update(bytes);
  }
  return hash.digest('hex');
}

/** Claims are JSON, so text that is not UTF-8 is invalid (RFC 7519). */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The session that a token claims, verified or not; null when no claim can be read. */
export function claimedSession(token: unknown): string | null {
  if (typeof token !== 'string' || token.length > 4_096) return null;
  const parts = token.split('.');
  if (parts.length !== 3) return null;
  try {
    const claims: unknown = JSON.parse(utf8.decode(Buffer.from(parts[1] ?? '', 'base64url')));
    if (typeof claims !== 'object' || claims === null || !('jti' in claims) || !('tenant_id' in claims)) return null;
    return `${claims.tenant_id}/${claims.jti}`;
  } catch {
    return null;
  }
}

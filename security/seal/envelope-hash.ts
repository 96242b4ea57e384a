import { createHash } from 'node:crypto';
import type { SealEnvelope } from './api.ts';

/**
 * SHA-256, hex, of an envelope as received: payload bytes, then token, signature, timestamp and protocol as UTF-8, each
 * after its length in eight bytes (big endian), so that no two envelopes have the same text (docs/seal.md).
 */
export function envelopeHash(envelope: SealEnvelope): string {
  const hash = createHash('sha256');
  const { payload, security_token, signature, timestamp, protocol } = envelope;
  for (const part of [payload, ...[security_token, signature, timestamp, protocol].map((text) => Buffer.from(text))]) {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(part.length));
    hash.update(length).update(part);
  }
  return hash.digest('hex');
}

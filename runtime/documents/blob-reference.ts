import { createHash } from 'node:crypto';
import { PAYLOAD_LIMIT_BYTES } from '../blobs.ts';
import { SvcError } from '../errors.ts';
import { checkKey } from './document-shape.ts';

const REFERENCE = /^[0-9a-f]{64}$/;

/** The reference of bytes: their SHA-256 in hex. Throws `payload_too_large` over 16 MiB, `invalid_argument` for a bad tenant. */
export function referenceOf(tenant: string, bytes: Uint8Array): string {
  if (bytes.byteLength > PAYLOAD_LIMIT_BYTES) throw new SvcError('payload_too_large');
  const ref = createHash('sha256').update(bytes).digest('hex');
  checkKey(tenant, ref);
  return ref;
}

/** One answer for what is unknown, malformed or another tenant's. */
export const unknownBlob = (): SvcError => new SvcError('not_found', 'no such stored payload in this tenant');

/** Throws `not_found` for what cannot be a reference. */
export function checkReference(tenant: string, ref: string): void {
  if (typeof ref !== 'string' || !REFERENCE.test(ref)) throw unknownBlob();
  checkKey(tenant, ref);
}

/** Throws `internal` when stored bytes are no longer what was stored: damage is never handed on as data. */
export function checkBytes(ref: string, bytes: Uint8Array): void {
  if (createHash('sha256').update(bytes).digest('hex') === ref) return;
  throw new SvcError('internal', undefined, { cause: new Error(`stored payload ${ref} is damaged`) });
}

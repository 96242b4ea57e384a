import { createHash } from 'node:crypto';
import { PAYLOAD_LIMIT_BYTES } from '../blobs.ts';
import { SvcError } from '../errors.ts';
import { checkKey } from './document-query.ts';

const REFERENCE = /^[0-9a-f]{64}(\.[0-9a-f]{32})?$/;

/**
 * Builds the reference of bytes: their SHA-256 in hex, followed by a dot and the owner's part when they belong to an
 * owner. Throws `payload_too_large` over `most` bytes, `invalid_argument` for a bad tenant.
 */
export function referenceOf(tenant: string, bytes: Uint8Array, owner?: string, most = PAYLOAD_LIMIT_BYTES): string {
  if (bytes.byteLength > most) throw new SvcError('payload_too_large');
  const digest = createHash('sha256').update(bytes).digest('hex');
  const ref = owner === undefined ? digest : `${digest}.${ownerPart(owner)}`;
  checkKey(tenant, ref);
  return ref;
}

/**
 * Short form of an owner for references and file names. It is a hash, so no character of the owner can escape a path.
 */
export const ownerPart = (owner: string): string => createHash('sha256').update(owner).digest('hex').slice(0, 32);

/** Splits a reference into the digest and the part of its owner. */
export function partsOf(ref: string): { readonly digest: string; readonly owner: string | null } {
  const [digest = ref, owner = null] = ref.split('.');
  return { digest, owner };
}

/** The same error for references that are unknown, malformed or of another tenant. */
export const unknownBlob = (): SvcError =>
  new SvcError('not_found', 'this tenant has no stored payload with this reference');

/** Throws `not_found` for text that cannot be a reference. */
export function checkReference(tenant: string, ref: string): void {
  if (typeof ref !== 'string' || !REFERENCE.test(ref)) throw unknownBlob();
  checkKey(tenant, ref);
}

/** Throws `internal` when bytes differ from those that were stored: damaged bytes are never returned as data. */
export function checkBytes(ref: string, bytes: Uint8Array): void {
  if (createHash('sha256').update(bytes).digest('hex') === partsOf(ref).digest) return;
  throw new SvcError('internal', undefined, { cause: new Error(`stored payload ${ref} is damaged`) });
}

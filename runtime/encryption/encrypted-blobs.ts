import { type Blobs, PAYLOAD_LIMIT_BYTES } from '../blobs.ts';
import { SvcError } from '../errors.ts';
import type { TextCipher } from './text-cipher.ts';

/**
 * Blobs whose bytes are encrypted. A reference is the SHA-256 of the encrypted bytes, so it says nothing of the content; equal
 * bytes of a tenant are still stored once, until the key version changes.
 */
export function encryptedBlobs(inner: Blobs, cipher: TextCipher): Blobs {
  return {
    open: () => inner.open(),
    close: () => inner.close(),
    async put(tenant, bytes, owner) {
      if (!cipher.encrypts(tenant)) return inner.put(tenant, bytes, owner);
      if (bytes.byteLength > PAYLOAD_LIMIT_BYTES) throw new SvcError('payload_too_large');
      await cipher.toWrite([tenant]);
      return inner.put(tenant, cipher.encryptBytes(tenant, bytes), owner);
    },
    get: async (tenant, ref) => cipher.decryptBytes(tenant, await inner.get(tenant, ref)),
    delete: (tenant, ref) => inner.delete(tenant, ref),
    deleteOwned: (tenant, owner) => inner.deleteOwned(tenant, owner),
  };
}

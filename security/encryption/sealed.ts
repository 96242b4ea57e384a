import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';

const IV_BYTES = 12;

const TAG_BYTES = 16;

/**
 * The use of encrypted bytes, then whatever identifies their place. It is authenticated with them, so bytes that were moved to
 * another place cannot be decrypted there.
 */
type Context = readonly (string | number)[];

const contextBytes = (context: Context): Buffer => Buffer.from(JSON.stringify(context));

/** Encrypts with AES-256-GCM under a random nonce: nonce, tag and ciphertext as base64. */
export function seal(key: Uint8Array, plain: Uint8Array, context: Context): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(contextBytes(context));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64');
}

/** Decrypts the result of `seal`; null for another key or context, and for changed bytes. */
export function unseal(key: Uint8Array, text: string, context: Context): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length < IV_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(contextBytes(context));
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
  } catch (error) {
    // OpenSSL says only that the tag does not match.
    if (error instanceof Error) return null;
    throw error;
  }
}

import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { invalidField } from '../runtime/errors.ts';
import { makePrivateFile, readPrivateFile, unusable } from './keys/file-keys.ts';

const MAX_PEM_BYTES = 4 * 1024;
const newPair = promisify(generateKeyPair);

/** The Ed25519 key pair of a node. The node signs its challenge and its envelopes with it. */
export interface NodeKey {
  readonly privateKey: KeyObject;
  /** SPKI in PEM, the format of AttestNodeRequest. */
  readonly publicKeyPem: string;
}

/**
 * The key pair in file `path` (PKCS#8 PEM, mode 0600), created at first use; concurrent processes get the same one. Throws
 * `invalid_config` naming the file when it is not an Ed25519 key or other users can read it.
 */
export async function loadOrMakeNodeKey(path: string): Promise<NodeKey> {
  const kept = await readPrivateFile(path);
  if (kept !== null) return pairOf(path, kept);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch(() => {
    throw unusable(path, 'its directory cannot be created');
  });
  const { privateKey } = await newPair('ed25519');
  await makePrivateFile(path, String(privateKey.export({ type: 'pkcs8', format: 'pem' })));
  const made = await readPrivateFile(path);
  if (made === null) throw unusable(path, 'it disappeared while it was created');
  return pairOf(path, made);
}

/**
 * Parses `public_key_pem` of a request: an Ed25519 public key, SPKI in PEM, at most 4 KiB. Throws `invalid_argument` naming the
 * field, also for a private key.
 */
export function parsePublicKeyPem(pem: string): KeyObject {
  const key = Buffer.byteLength(pem) <= MAX_PEM_BYTES && isPublicPem(pem) ? readable(() => createPublicKey(pem)) : null;
  if (key?.asymmetricKeyType === 'ed25519') return key;
  const expected = `an Ed25519 public key in PEM, at most ${MAX_PEM_BYTES} bytes`;
  throw invalidField('public_key_pem', `expected ${expected}`);
}

/** Node.js would accept a private key too and derive the public one; the sender must get an error instead. */
const isPublicPem = (pem: string): boolean => pem.trimStart().startsWith('-----BEGIN PUBLIC KEY-----');

function pairOf(path: string, pem: string): NodeKey {
  const privateKey = readable(() => createPrivateKey(pem));
  if (privateKey?.asymmetricKeyType !== 'ed25519') throw unusable(path, 'expected an Ed25519 private key in PEM');
  const publicKeyPem = String(createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }));
  return { privateKey, publicKeyPem };
}

/** OpenSSL's error is dropped, since it may quote the text. */
function readable(read: () => KeyObject): KeyObject | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error) return null;
    throw error;
  }
}

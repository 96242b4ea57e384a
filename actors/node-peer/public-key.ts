import { createPublicKey } from 'node:crypto';
import { SvcError } from '../../runtime/errors.ts';

/** One spelling for one key, so that keys can be compared. Throws `invalid_argument` for all but an Ed25519 public key. */
export function canonicalPublicKey(pem: string): string {
  // A private key would be read too, and its public half taken: nobody should ever send one.
  if (pem.length > 1_000 || !pem.trimStart().startsWith('-----BEGIN PUBLIC KEY-----')) throw notAKey();
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType !== 'ed25519') throw notAKey();
    return key.export({ type: 'spki', format: 'pem' }).toString();
  } catch (cause) {
    throw notAKey(cause);
  }
}

const notAKey = (cause?: unknown): SvcError =>
  new SvcError('invalid_argument', 'public_key_pem: expected an Ed25519 public key (SPKI, PEM)', {
    field: 'public_key_pem',
    cause,
  });

import { createHmac, timingSafeEqual } from 'node:crypto';
import { webhookSecretVariable } from '../manifests/secret.ts';
import { SvcError } from '../runtime/errors.ts';

/** Shared secret of a webhook's source; null when none is set. */
export type WebhookSecret = (source: string) => Promise<string | null>;

const FORM = /^sha256=((?:[0-9a-f]{2})+)$/i;

/** Secrets of webhooks from environment variables; an empty one is none. */
export const webhookSecretsFrom =
  (environment: Readonly<Record<string, string | undefined>>): WebhookSecret =>
  async (source) => {
    const secret = environment[webhookSecretVariable(source)];
    return secret === undefined || secret === '' ? null : secret;
  };

/**
 * The digest of an `X-Svc-Signature` header, `sha256=<hex>` (spec 2). Throws `missing_signature`,
 * `malformed_signature`. Known before a byte of the body is read.
 */
export function signatureDigest(header: string | undefined): Uint8Array {
  if (header === undefined || header.trim() === '') throw new SvcError('missing_signature');
  const hex = FORM.exec(header.trim())?.[1];
  if (hex === undefined) throw new SvcError('malformed_signature');
  return Buffer.from(hex, 'hex');
}

/** A signature over a body that is still coming in. */
export interface BodySignature {
  update(chunk: Uint8Array): void;
  /** Compares in constant time, once all was given. Throws `invalid_signature`. */
  verify(): void;
}

/** The HMAC-SHA256 of a raw body, to be compared with `digest`. */
export function webhookSignature(digest: Uint8Array, secret: string): BodySignature {
  const hmac = createHmac('sha256', secret);
  return {
    update: (chunk) => {
      hmac.update(chunk);
    },
    verify() {
      const expected = hmac.digest();
      // How long the right digest is, everybody knows.
      if (digest.length !== expected.length || !timingSafeEqual(digest, expected)) {
        throw new SvcError('invalid_signature');
      }
    },
  };
}

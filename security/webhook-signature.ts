import { createHmac, timingSafeEqual } from 'node:crypto';
import { SvcError } from '../runtime/errors.ts';

/** Shared secret of a webhook's source; null when none is set. */
export type WebhookSecret = (source: string) => Promise<string | null>;

const FORM = /^sha256=((?:[0-9a-f]{2})+)$/i;

/** Environment variable with the secret of a source (decided.md "Stimuli"): `git-hub.io` → `SVC_WEBHOOK_SECRET_GIT_HUB_IO`. */
export const webhookSecretVariable = (source: string): string =>
  `SVC_WEBHOOK_SECRET_${source.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;

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

/** Compares the HMAC-SHA256 of the raw body in constant time. Throws `invalid_signature`. */
export function verifyWebhookBody(digest: Uint8Array, secret: string, body: Uint8Array): void {
  const expected = createHmac('sha256', secret).update(body).digest();
  // How long the right digest is, everybody knows.
  if (digest.length !== expected.length || !timingSafeEqual(digest, expected)) throw new SvcError('invalid_signature');
}

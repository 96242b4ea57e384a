import {
  secretName,
  type WebhookSettings,
  webhookSecretReferences,
  webhooksBySource,
} from '../../manifests/node/rate-limits.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import {
  type BodySignature,
  type DeliveryHeaders,
  eventIdOf,
  HmacSignature,
  type RepeatRules,
  SCHEMES,
} from './schemes.ts';

/** A delivery whose headers were read and whose body was not. */
export interface SignedDelivery extends BodySignature {
  /**
   * The key that repeats of a delivery share; undefined: it has none. `body` is the verified body. Throws `internal` before
   * `verify`.
   */
  key(body: Uint8Array): string | undefined;
  /** Undefined: the rules of all stimuli apply. */
  readonly repeats: RepeatRules | undefined;
}

/** Verifies signatures of webhooks (`spec.stimulus.webhooks`). */
export interface Webhooks {
  /**
   * Reads the headers of a delivery. Throws `missing_signature`, `malformed_signature`, `secret_not_found`, and
   * `invalid_signature` for a time outside the tolerance.
   */
  open(source: string, headers: DeliveryHeaders): Promise<SignedDelivery>;
  /** Secrets that are configured but unusable, each as a line for the log, without its value. */
  unusable(): Promise<readonly string[]>;
}

interface WebhooksParts {
  readonly webhooks: readonly WebhookSettings[];
  /**
   * Called for each delivery, so that a changed secret takes effect at once. Throws `failed_precondition` for a missing secret.
   */
  readonly resolve: (reference: string) => Promise<string>;
  readonly clock: Pick<Clock, 'now'>;
}

export function createWebhooks({ webhooks, resolve, clock }: WebhooksParts): Webhooks {
  const settingsOf = webhooksBySource(webhooks);

  /** Null when the secret is missing or does not fit the scheme. */
  async function secretOf({ scheme }: WebhookSettings, reference: string): Promise<Uint8Array | null> {
    try {
      const text = await resolve(reference);
      return text === '' ? null : SCHEMES[scheme].secret(text);
    } catch (thrown) {
      if (thrown instanceof SvcError && thrown.code === 'failed_precondition') return null;
      throw thrown;
    }
  }

  return {
    async open(source, headers) {
      const settings = settingsOf(source);
      const rules = SCHEMES[settings.scheme];
      const claimed = rules.read(headers, clock.now());
      const found = await Promise.all(webhookSecretReferences(settings).map((one) => secretOf(settings, one)));
      const secrets = found.filter((secret) => secret !== null);
      if (secrets.length === 0) throw new SvcError('secret_not_found');
      const signature = new HmacSignature(claimed, secrets);
      return {
        repeats: rules.repeats,
        update: (chunk) => signature.update(chunk),
        verify: () => signature.verify(),
        key: (body) => {
          const digest = digestKey(signature.verified);
          if (settings.repeat === 'digest') return digest;
          return claimed.key === null ? (eventIdOf(rules, body) ?? digest) : claimed.key;
        },
      };
    },

    async unusable() {
      const lines: string[] = [];
      for (const [index, settings] of webhooks.entries()) {
        const references = webhookSecretReferences(settings);
        const found = await Promise.all(references.map((reference) => secretOf(settings, reference)));
        // Without `secrets` a source has a variable or a stored secret.
        if (settings.secrets === undefined && found.some((secret) => secret !== null)) continue;
        for (const [at, reference] of references.entries()) {
          if (found[at] !== null) continue;
          const place = `spec.stimulus.webhooks[${index}]: ${secretName(reference)}`;
          const expected = settings.scheme === 'standard-webhooks' ? 'base64, with or without whsec_' : 'a secret';
          lines.push(`${place} of source ${settings.source} cannot be used: expected ${expected}`);
        }
      }
      return lines;
    },
  };
}

function digestKey(verified: string | null): string {
  if (verified === null) throw new SvcError('internal', 'the key of a delivery was read before it was verified');
  return `sha256:${verified}`;
}

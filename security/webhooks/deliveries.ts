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

/** A delivery whose body is still to come. */
export interface SignedDelivery extends BodySignature {
  /**
   * What a repeated delivery has in common with the first one; undefined: nothing. Takes the body that was verified; before
   * `verify` it throws `internal`.
   */
  key(body: Uint8Array): string | undefined;
  /** Undefined: as for every stimulus. */
  readonly repeats: RepeatRules | undefined;
}

/** Who signs webhooks, and how (`spec.stimulus.webhooks`). */
export interface Webhooks {
  /**
   * What the headers of a delivery say. Throws `missing_signature`, `malformed_signature`, `invalid_signature` for a time
   * too far away, `secret_not_found`.
   */
  open(source: string, headers: DeliveryHeaders): Promise<SignedDelivery>;
  /** Secrets that are set but cannot be used now, each as a line for the log, without a value. */
  unusable(): Promise<readonly string[]>;
}

export interface WebhooksParts {
  readonly webhooks: readonly WebhookSettings[];
  /** Looked up anew for each delivery, so that a changed secret counts at once. Throws `failed_precondition` for none. */
  readonly resolve: (reference: string) => Promise<string>;
  readonly clock: Pick<Clock, 'now'>;
}

export function createWebhooks({ webhooks, resolve, clock }: WebhooksParts): Webhooks {
  const settingsOf = webhooksBySource(webhooks);

  /** Null: not there, or none of the scheme. */
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
        for (const reference of webhookSecretReferences(settings)) {
          if ((await secretOf(settings, reference)) !== null) continue;
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
  if (verified === null) throw new SvcError('internal', 'the key of a delivery was asked for before it was verified');
  return `sha256:${verified}`;
}

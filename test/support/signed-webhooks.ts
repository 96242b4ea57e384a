import type { WebhookSettings } from '../../manifests/node/rate-limits.ts';
import { systemClock } from '../../runtime/clock.ts';
import { createFileSecrets } from '../../security/file-secrets.ts';
import { createWebhooks, type Webhooks } from '../../security/webhooks/deliveries.ts';

/** Webhooks of a node with this environment, on the test's clock. */
export function signedWebhooks(
  environment: Readonly<Record<string, string>>,
  webhooks: readonly (Pick<WebhookSettings, 'source'> & Partial<WebhookSettings>)[] = [],
  clock: { now(): number } = systemClock,
): Webhooks {
  const secrets = createFileSecrets({ environment });
  return createWebhooks({
    webhooks: webhooks.map((one) => ({ scheme: 'svc', repeat: 'key', ...one })),
    resolve: (reference) => secrets.resolve('svc-system', reference),
    clock,
  });
}

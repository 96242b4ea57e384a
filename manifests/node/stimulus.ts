import { z } from 'zod';
import { secretText, webhookSecretVariable } from '../secret.ts';

const source = z.string().min(1).max(200);

/** How deliveries of a source are signed. `svc` is the form of spec 2, the others are those of their senders. */
export const WebhookScheme = z.enum(['svc', 'standard-webhooks', 'stripe', 'slack', 'github']);
export type WebhookScheme = z.output<typeof WebhookScheme>;

/** Their signature covers the body alone, so a delivery that was recorded could be sent again for ever. */
const BODY_ONLY: readonly WebhookScheme[] = ['svc', 'github'];

const Webhook = z
  .strictObject({
    source,
    scheme: WebhookScheme.default('svc'),
    /** `key`: deliveries with one key are one stimulus. `digest`: those with one body and signature are, whatever their key. */
    repeat: z.enum(['key', 'digest']).default('key'),
    /** Each of them signs: the new one and the one before while senders change over. */
    secrets: z.array(secretText).min(1).max(4).optional(),
  })
  .superRefine(({ scheme, repeat }, context) => {
    if (repeat === 'key' || BODY_ONLY.includes(scheme)) return;
    const message = `expected key: ${scheme} signs the time of a delivery, so that each try has another signature`;
    context.addIssue({ code: 'custom', path: ['repeat'], message });
  });

/** `spec.stimulus` (decided.md "Stimuli"). */
export const NodeStimulus = z.strictObject({
  routes: z
    .array(
      z.strictObject({
        source,
        workflow: z.string().min(1).max(200),
        tenant: z.string().min(1).max(128).optional(),
      }),
    )
    .max(1_000)
    .default([]),
  /** Sources that are not named here sign as spec 2 has it, with the secret of their variable. */
  webhooks: z.array(Webhook).max(1_000).default([]),
  router_agent: z.string().min(1).max(200).optional(),
  classification_confidence_threshold: z.number().min(0).max(1).default(0.7),
  classification_timeout_secs: z.number().int().min(1).max(3_600).default(30),
});

/** One of `spec.stimulus.webhooks`; `scheme` and `repeat` of a source that is not there are the defaults. */
export interface WebhookSettings {
  readonly source: string;
  readonly scheme: WebhookScheme;
  readonly repeat: 'key' | 'digest';
  readonly secrets?: readonly string[] | undefined;
}

/** What is set for each source; sources know no case. */
export function webhooksBySource(webhooks: readonly WebhookSettings[]): (source: string) => WebhookSettings {
  const known = new Map(webhooks.map((one) => [one.source.toLowerCase(), one]));
  return (name) => known.get(name.toLowerCase()) ?? { source: name, scheme: 'svc', repeat: 'key' };
}

/**
 * References to the secrets of a source: those that are set, else the variable of spec 2. Equal ones are equal texts:
 * `literal:VALUE` and `VALUE` are one.
 */
export const webhookSecretReferences = ({ source: name, secrets }: WebhookSettings): readonly string[] =>
  secrets?.map((reference) => reference.replace(/^literal:/, '')) ?? [`env:${webhookSecretVariable(name)}`];

/** How an error names a secret: never by its value. */
export function secretName(reference: string): string {
  if (reference.startsWith('env:')) return reference.slice('env:'.length);
  return reference.startsWith('secret:') ? reference : 'a value in the settings';
}

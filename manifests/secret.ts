import { z } from 'zod';

const REFERENCE = /^(env|secret|literal):/;

/** `env:NAME`, `secret:PATH`, `literal:VALUE`, or the value itself (W45). Never resolved here. */
export const secretText = z
  .string()
  .min(1)
  .max(10_000)
  .refine((text) => !/^(env|secret):\s*$/.test(text), 'expected a name after env: or secret:')
  .meta({ description: 'Secret: env:NAME, secret:PATH, literal:VALUE, or the value itself.' });

/** A URL that may contain a password: plain, or a reference. Errors never show it. */
export const secretUrl = (protocols: readonly string[]) =>
  secretText
    .refine(
      (text) =>
        REFERENCE.test(text) || protocols.some((protocol) => text.startsWith(`${protocol}://`) && hasHost(text)),
      `expected a URL with ${protocols.map((protocol) => `${protocol}://`).join(', ')}, or a reference such as env:NAME`,
    )
    .meta({ description: `URL (${protocols.join(', ')}), or a secret reference to one.` });

const hasHost = (text: string): boolean => /^[a-z+]+:\/\/[^/\s]+(\/\S*)?$/.test(text);

/** Environment variable with the secret of a source (H25): `git-hub.io` → `SVC_WEBHOOK_SECRET_GIT_HUB_IO`. */
export const webhookSecretVariable = (source: string): string =>
  `SVC_WEBHOOK_SECRET_${source.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;

import { z } from 'zod';
import { limitField } from './fields.ts';

export const MOST_SECRETS_LISTED = 1_000;

const PART = '[A-Za-z0-9_][A-Za-z0-9._-]{0,62}';
const PATH = new RegExp(`^${PART}(/${PART}){0,7}$`);

export const SecretPathParams = z.object({
  path: z
    .string()
    .max(200)
    .regex(PATH, 'path: expected at most 8 parts of letters, digits, dots, dashes and underscores')
    .describe('`db/password`, with `%2F` for each slash.'),
});

export const SecretBody = z.strictObject({
  value: z.string().min(1).max(65_000).describe('Never answered by any route.'),
  expect: z
    .enum(['absent', 'present', 'any'])
    .default('any')
    .describe('What must be there before: `absent` only creates, `present` only rotates.'),
});

export const SecretsQuery = z.object({
  prefix: z.string().max(256).default('').describe('Only paths that begin like this.'),
  limit: limitField(100, MOST_SECRETS_LISTED),
});

export const SecretVersionQuery = z.object({
  version: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'expected the number of an earlier version')
    .optional()
    .describe('Only this earlier version; without it the secret with all its versions.'),
});

export const SecretAnswer = z.object({
  path: z.string(),
  reference: z.string().describe('How settings and manifests name it.'),
  version: z.number().int(),
  earlier: z.array(z.object({ version: z.number().int(), reference: z.string() })).describe('The newest first.'),
  created_at: z.string().nullable(),
  updated_at: z.string(),
  updated_by: z.string().nullable(),
});
export const SecretListAnswer = z.object({ secrets: z.array(SecretAnswer) });
export const SecretRemovedAnswer = z.object({
  path: z.string(),
  version: z.number().int().nullable(),
  deleted: z.literal(true),
});

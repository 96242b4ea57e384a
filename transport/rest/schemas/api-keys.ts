import { z } from 'zod';
import { SCOPES } from '../../../security/api.ts';
import { nextPageField, pageFields } from './fields.ts';

const flag = z.enum(['', 'true', 'false']).optional();

export const MOST_KEYS_LISTED = 1_000;

export const KeyIdParams = z.object({ id: z.guid('invalid API key id').describe('UUID') });

export const NewKeyBody = z.strictObject({
  name: z.string().min(1).max(100).describe('What it is for.'),
  scopes: z
    .array(z.enum(SCOPES))
    .min(1)
    .max(32)
    .optional()
    .describe(`Default: \`*\`. Of ${SCOPES.join(', ')}; \`*\` is everything but keys:write.`),
  expires_in: z
    .number()
    .int()
    .min(60)
    .max(366 * 86_400)
    .optional()
    .describe('Seconds from now; default 90 days.'),
});

export const ValidateKeyBody = z.strictObject({ key: z.string().min(1).max(1_024) });

export const KeysQuery = z.object({
  all: flag.describe('Of everybody in the tenant, for who administers it.'),
  ...pageFields(100, MOST_KEYS_LISTED),
});

export const ApiKeyAnswer = z.object({
  id: z.string(),
  name: z.string(),
  tenant_id: z.string(),
  owner: z.object({ kind: z.string(), subject: z.string(), tier: z.string() }).describe('Who calls with it.'),
  scopes: z.array(z.string()),
  status: z.enum(['active', 'expired', 'revoked']),
  made_by_key: z.string().nullable().describe('Id of the key that made it; it ends with that.'),
  created_at: z.string(),
  expires_at: z.string(),
  last_used_at: z.string().nullable().describe('Within a minute.'),
  revoked_at: z.string().nullable(),
  revoked_by: z.string().nullable(),
});

export const MadeKeyAnswer = ApiKeyAnswer.extend({
  key: z.string().describe('Shown this once; the node keeps a hash.'),
});
export const KeyListAnswer = z.object({ keys: z.array(ApiKeyAnswer), ...nextPageField });
export const ValidateKeyAnswer = z.object({
  valid: z.boolean(),
  key: ApiKeyAnswer.nullable().describe('Null for everything that is no live key of the tenant.'),
});

import { z } from 'zod';
import { SCOPES } from '../../security/api.ts';
import { operation } from './operation.ts';
import { flagField } from './schemas/catalog.ts';
import { nextPageField, pageAsked, pageFields, uuid } from './schemas/fields.ts';

const MOST_KEYS_LISTED = 1_000;

const KeyIdParams = z.object({ id: uuid('invalid API key id') });

const NewKeyBody = z.strictObject({
  name: z.string().min(1).max(100).describe('Purpose.'),
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

const ValidateKeyBody = z.strictObject({ key: z.string().min(1).max(1_024) });

const KeysQuery = z.object({
  all: flagField.describe('Those of all users of the tenant; for administrators of the tenant.'),
  ...pageFields(100, MOST_KEYS_LISTED),
});

const KeyOwner = z
  .object({ kind: z.string(), subject: z.string(), tier: z.string() })
  .meta({ id: 'KeyOwner', description: 'User that the key acts for.' });

const ApiKeyAnswer = z
  .object({
    id: z.string(),
    name: z.string(),
    tenant_id: z.string(),
    owner: KeyOwner,
    scopes: z.array(z.string()),
    status: z.enum(['active', 'expired', 'revoked']),
    made_by_key: z.string().nullable().describe('Id of the key that created it; it is revoked together with that key.'),
    created_at: z.string(),
    expires_at: z.string(),
    last_used_at: z.string().nullable().describe('Accurate to a minute.'),
    revoked_at: z.string().nullable(),
    revoked_by: z.string().nullable(),
  })
  .meta({ id: 'ApiKey' });

const MadeKeyAnswer = ApiKeyAnswer.extend({
  key: z.string().describe('Returned in this answer only; the node stores a hash.'),
});

const KeyListAnswer = z.object({ keys: z.array(ApiKeyAnswer), ...nextPageField });

const ValidateKeyAnswer = z.object({
  valid: z.boolean(),
  key: ApiKeyAnswer.nullable().describe('Null for anything that is not a live key of the tenant.'),
});

const common = { tag: 'api keys', access: 'read', needs: ['keys'] } as const;

/** A caller that may read may also create and revoke keys, since a key allows no more than its owner may do. */
const change = { area: 'keys', action: 'write' } as const;

/** Operations on API keys. A key acts as the user who created it, within its scopes. */
export const API_KEY_OPERATIONS = [
  operation({
    ...common,
    name: 'api_keys.create',
    summary: 'Create an API key',
    description:
      'It acts as the user who created it, with that user’s present rights, within its scopes. The key is shown in this answer only.',
    scope: change,
    input: { body: NewKeyBody },
    answer: MadeKeyAnswer,
    rest: { method: 'POST', path: '/v1/api-keys', style: 'coded', also: [409] },
    commands: ['key create'],
    handle: ({ keys }, { caller, body: { name, scopes, expires_in } }) =>
      keys.create(caller, { name, scopes, expiresInSeconds: expires_in }),
  }),
  operation({
    ...common,
    name: 'api_keys.list',
    summary: 'List API keys, the newest first',
    input: { query: KeysQuery },
    answer: KeyListAnswer,
    rest: { method: 'GET', path: '/v1/api-keys', style: 'coded' },
    commands: ['key list'],
    async handle({ keys }, { identity, query: { all, ...page } }) {
      const asked = { everybody: all === '' || all === 'true', ...pageAsked(page, MOST_KEYS_LISTED) };
      const { items, ...next } = await keys.list(identity, asked);
      return { keys: items, ...next };
    },
  }),
  operation({
    ...common,
    name: 'api_keys.get',
    summary: 'Show an API key, never the key itself',
    input: { params: KeyIdParams },
    answer: ApiKeyAnswer,
    rest: { method: 'GET', path: '/v1/api-keys/:id', style: 'coded', also: [404] },
    handle: ({ keys }, { identity, params }) => keys.get(identity, params.id),
  }),
  operation({
    ...common,
    name: 'api_keys.revoke',
    summary: 'Revoke an API key, on every node within a second',
    description: 'Keys that it created are revoked with it.',
    scope: change,
    input: { params: KeyIdParams },
    answer: ApiKeyAnswer,
    rest: { method: 'DELETE', path: '/v1/api-keys/:id', style: 'coded', also: [404] },
    commands: ['key revoke'],
    handle: ({ keys }, { identity, params }) => keys.revoke(identity, params.id),
  }),
  operation({
    ...common,
    name: 'api_keys.validate',
    summary: 'Check whether a text is a live API key of the tenant',
    input: { body: ValidateKeyBody },
    answer: ValidateKeyAnswer,
    rest: { method: 'POST', path: '/v1/api-keys/validate', style: 'coded' },
    commands: ['key validate'],
    async handle({ keys }, { identity, body }) {
      const key = await keys.validate(identity, body.key);
      return { valid: key !== null, key };
    },
  }),
];

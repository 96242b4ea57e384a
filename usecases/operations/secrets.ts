import { z } from 'zod';
import { operation } from './operation.ts';
import { limitField, nextPageField, pageTokenField } from './schemas/fields.ts';

const MOST_SECRETS_LISTED = 1_000;

const PART = '[A-Za-z0-9_][A-Za-z0-9._-]{0,62}';

const PATH = new RegExp(`^${PART}(/${PART}){0,7}$`);

const SecretPathParams = z.object({
  path: z
    .string()
    .max(200)
    .regex(PATH, 'path: expected at most 8 parts of letters, digits, dots, dashes and underscores')
    .describe('`db/password`, with `%2F` for each slash.'),
});

const SecretBody = z.strictObject({
  value: z.string().min(1).max(65_000).describe('Write-only: no route returns it.'),
  expect: z
    .enum(['absent', 'present', 'any'])
    .default('any')
    .describe('What must exist before: `absent` only creates, `present` only rotates.'),
});

const SecretsQuery = z.object({
  prefix: z.string().max(256).default('').describe('Only paths with this prefix.'),
  limit: limitField(100, MOST_SECRETS_LISTED),
  page_token: pageTokenField,
});

const SecretVersionQuery = z.object({
  version: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'expected the number of an earlier version')
    .optional()
    .describe('Version to act on; absent: the secret with all its versions.'),
});

const SecretAnswer = z
  .object({
    path: z.string(),
    reference: z.string().describe('Name used in settings and manifests.'),
    version: z.number().int(),
    earlier: z.array(z.object({ version: z.number().int(), reference: z.string() })).describe('Newest first.'),
    created_at: z.string().nullable(),
    updated_at: z.string(),
    updated_by: z.string().nullable(),
  })
  .meta({ id: 'Secret' });

const SecretListAnswer = z.object({ secrets: z.array(SecretAnswer), ...nextPageField });

const SecretRemovedAnswer = z.object({
  path: z.string(),
  version: z.number().int().nullable(),
  deleted: z.literal(true),
});

const SecretKeysAnswer = z
  .object({
    current: z.number().int().describe('The version that encrypts new secrets.'),
    versions: z
      .array(
        z.object({
          version: z.number().int(),
          made_at: z.string(),
          secrets: z.number().int().describe('Secrets of all tenants that need this version.'),
          payload_keys: z.number().int().describe('Data keys of encrypted payloads that need this version.'),
        }),
      )
      .describe('Newest first.'),
  })
  .meta({ id: 'SecretKeys' });

const keyPath = '/v1/cluster/secret-keys';

const common = { tag: 'secrets', access: 'write', needs: ['secretStore'] } as const;

/** Reading paths of secrets needs the role to write them; of a key it needs only the scope `secrets:read`. */
const look = { area: 'secrets', action: 'read' } as const;

/** Operations on a node's secrets. No answer contains a value. */
export const SECRET_OPERATIONS = [
  operation({
    ...common,
    name: 'secrets.list',
    summary: 'List secrets of the tenant by path, never their values',
    scope: look,
    input: { query: SecretsQuery },
    answer: SecretListAnswer,
    rest: { method: 'GET', path: '/v1/secrets', style: 'coded' },
    commands: ['secret list'],
    async handle({ secretStore }, { identity, query: { prefix, limit, page_token: pageToken } }) {
      const page = { limit: Math.min(limit, MOST_SECRETS_LISTED), pageToken };
      const { items, ...next } = await secretStore.list(identity, prefix, page);
      return { secrets: items, ...next };
    },
  }),
  operation({
    ...common,
    name: 'secrets.get',
    summary: 'Show a secret: versions and times, never its value',
    scope: look,
    input: { params: SecretPathParams },
    answer: SecretAnswer,
    rest: { method: 'GET', path: '/v1/secrets/:path', style: 'coded', also: [404] },
    commands: ['secret get'],
    handle: ({ secretStore }, { identity, params }) => secretStore.get(identity, params.path),
  }),
  operation({
    ...common,
    name: 'secrets.put',
    summary: 'Create or rotate a secret',
    description: 'The previous value is kept as an earlier version.',
    input: { params: SecretPathParams, body: SecretBody },
    answer: SecretAnswer,
    rest: { method: 'PUT', path: '/v1/secrets/:path', style: 'coded', also: [404, 409] },
    commands: ['secret create', 'secret rotate'],
    handle: ({ secretStore }, { identity, params, body: { value, expect } }) =>
      secretStore.put(identity, params.path, value, expect),
  }),
  operation({
    ...common,
    name: 'secrets.remove',
    summary: 'Delete a secret with all its versions, or one earlier version',
    input: { params: SecretPathParams, query: SecretVersionQuery },
    answer: SecretRemovedAnswer,
    rest: { method: 'DELETE', path: '/v1/secrets/:path', style: 'coded', also: [404] },
    commands: ['secret delete'],
    async handle({ secretStore }, { identity, params: { path }, query }) {
      const version = query.version === undefined ? undefined : Number(query.version);
      await secretStore.remove(identity, path, version);
      return { path, version: version ?? null, deleted: true as const };
    },
  }),
  operation({
    tag: 'cluster',
    name: 'secret_keys.get',
    summary:
      'Show the versions of the key that encrypts secrets, and how many secrets and data keys of payloads need each',
    access: 'inspect',
    needs: ['secretKeys'],
    input: {},
    answer: SecretKeysAnswer,
    rest: { method: 'GET', path: keyPath, style: 'coded' },
    commands: ['secret keys'],
    async handle({ secretKeys }) {
      const { current, versions } = await secretKeys.view();
      return { current, versions: [...versions] };
    },
  }),
  operation({
    tag: 'cluster',
    name: 'secret_keys.rotate',
    summary: 'Encrypt secrets with a newer version of the key',
    description:
      'The new version is in use at once. Existing secrets are encrypted with it in the background and stay readable.',
    access: 'operate',
    needs: ['secretKeys'],
    input: {},
    answer: SecretKeysAnswer,
    rest: { method: 'POST', path: `${keyPath}/rotate`, style: 'coded' },
    commands: ['secret rotate-key'],
    async handle({ secretKeys }, { identity }) {
      const { current, versions } = await secretKeys.rotate(identity);
      return { current, versions: [...versions] };
    },
  }),
];

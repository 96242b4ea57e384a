import { z } from 'zod';
import type { SecretStore } from '../../../security/api.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { CallerHeaders, limitField } from '../../../usecases/operations/schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';

/** /v1/secrets, on nodes that keep secrets. */
export function secretRoutes(app: RestApp, { secretStore }: RestParts): void {
  if (secretStore === undefined) return;
  for (const route of [listSecretsRoute, getSecretRoute, putSecretRoute, removeSecretRoute]) route(app, secretStore);
}

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
  value: z.string().min(1).max(65_000).describe('Never answered by any route.'),
  expect: z
    .enum(['absent', 'present', 'any'])
    .default('any')
    .describe('What must be there before: `absent` only creates, `present` only rotates.'),
});

const SecretsQuery = z.object({
  prefix: z.string().max(256).default('').describe('Only paths that begin like this.'),
  limit: limitField(100, MOST_SECRETS_LISTED),
});

const SecretVersionQuery = z.object({
  version: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'expected the number of an earlier version')
    .optional()
    .describe('Only this earlier version; without it the secret with all its versions.'),
});

const SecretAnswer = z.object({
  path: z.string(),
  reference: z.string().describe('How settings and manifests name it.'),
  version: z.number().int(),
  earlier: z.array(z.object({ version: z.number().int(), reference: z.string() })).describe('The newest first.'),
  created_at: z.string().nullable(),
  updated_at: z.string(),
  updated_by: z.string().nullable(),
});

const SecretListAnswer = z.object({ secrets: z.array(SecretAnswer) });

const SecretRemovedAnswer = z.object({
  path: z.string(),
  version: z.number().int().nullable(),
  deleted: z.literal(true),
});

const listSecretsSchema = {
  tags: ['secrets'],
  summary: 'List secrets of the tenant by path, never their values',
  headers: CallerHeaders,
  querystring: SecretsQuery,
  response: { 200: SecretListAnswer, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/secrets. */
function listSecretsRoute(app: RestApp, secrets: SecretStore): void {
  app.get('/v1/secrets', { config: { access: 'write', scope: LOOK }, schema: listSecretsSchema }, async (request) => {
    const { prefix, limit } = request.query;
    const found = await secrets.list(callerOf(request), { prefix, limit: Math.min(limit, MOST_SECRETS_LISTED) });
    return { secrets: [...found] };
  });
}

/** Only who may write secrets may look at their paths; a key needs no more than `secrets:read` for it. */
const LOOK = { area: 'secrets', action: 'read' } as const;

const getSecretSchema = {
  tags: ['secrets'],
  summary: 'Show a secret: versions and times, never its value',
  headers: CallerHeaders,
  params: SecretPathParams,
  response: { 200: SecretAnswer, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/secrets/{path}. */
function getSecretRoute(app: RestApp, secrets: SecretStore): void {
  app.get('/v1/secrets/:path', { config: { access: 'write', scope: LOOK }, schema: getSecretSchema }, async (request) =>
    secrets.get(callerOf(request), request.params.path),
  );
}

const putSecretSchema = {
  tags: ['secrets'],
  summary: 'Create or rotate a secret of this node',
  description: 'The value there was is kept as an earlier version.',
  headers: CallerHeaders,
  params: SecretPathParams,
  body: SecretBody,
  response: { 200: SecretAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** PUT /v1/secrets/{path}. */
function putSecretRoute(app: RestApp, secrets: SecretStore): void {
  app.put('/v1/secrets/:path', { config: { access: 'write' }, schema: putSecretSchema }, async (request) => {
    const { value, expect } = request.body;
    return secrets.put(callerOf(request), request.params.path, value, expect);
  });
}

const removeSecretSchema = {
  tags: ['secrets'],
  summary: 'Delete a secret with all its versions, or one earlier version',
  headers: CallerHeaders,
  params: SecretPathParams,
  querystring: SecretVersionQuery,
  response: { 200: SecretRemovedAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404] }) },
};

/** DELETE /v1/secrets/{path}. */
function removeSecretRoute(app: RestApp, secrets: SecretStore): void {
  app.delete('/v1/secrets/:path', { config: { access: 'write' }, schema: removeSecretSchema }, async (request) => {
    const { path } = request.params;
    const version = request.query.version === undefined ? undefined : Number(request.query.version);
    await secrets.remove(callerOf(request), path, version);
    return { path, version: version ?? null, deleted: true as const };
  });
}

import { z } from 'zod';
import { type ApiKeys, SCOPES } from '../../../security/api.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf, keyedCallerOf } from '../request-context.ts';
import { CallerHeaders, nextPageField, pageAsked, pageFields } from '../../../usecases/operations/schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';

const flag = z.enum(['', 'true', 'false']).optional();

const MOST_KEYS_LISTED = 1_000;

const KeyIdParams = z.object({ id: z.guid('invalid API key id').describe('UUID') });

const NewKeyBody = z.strictObject({
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

const ValidateKeyBody = z.strictObject({ key: z.string().min(1).max(1_024) });

const KeysQuery = z.object({
  all: flag.describe('Of everybody in the tenant, for who administers it.'),
  ...pageFields(100, MOST_KEYS_LISTED),
});

const ApiKeyAnswer = z.object({
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

const MadeKeyAnswer = ApiKeyAnswer.extend({
  key: z.string().describe('Shown this once; the node keeps a hash.'),
});

const KeyListAnswer = z.object({ keys: z.array(ApiKeyAnswer), ...nextPageField });

const ValidateKeyAnswer = z.object({
  valid: z.boolean(),
  key: ApiKeyAnswer.nullable().describe('Null for everything that is no live key of the tenant.'),
});

const createKeySchema = {
  tags: ['api keys'],
  summary: 'Make an API key',
  description: 'It acts as its maker, with the rights of this moment, within its scopes. The key is shown this once.',
  headers: CallerHeaders,
  body: NewKeyBody,
  response: { 200: MadeKeyAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [409] }) },
};

/** POST /v1/api-keys. Whoever may look may make keys: they give no more than their maker has. */
function createKeyRoute(app: RestApp, keys: ApiKeys): void {
  const config = { access: 'read', scope: { area: 'keys', action: 'write' } } as const;
  app.post('/v1/api-keys', { config, schema: createKeySchema }, async (request) => {
    const { name, scopes, expires_in } = request.body;
    return keys.create(keyedCallerOf(request), { name, scopes, expiresInSeconds: expires_in });
  });
}

const getKeySchema = {
  tags: ['api keys'],
  summary: 'Show an API key, never the key itself',
  headers: CallerHeaders,
  params: KeyIdParams,
  response: { 200: ApiKeyAnswer, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/api-keys/{id}. */
function getKeyRoute(app: RestApp, keys: ApiKeys): void {
  app.get('/v1/api-keys/:id', { config: { access: 'read' }, schema: getKeySchema }, async (request) =>
    keys.get(callerOf(request), request.params.id),
  );
}

const listKeysSchema = {
  tags: ['api keys'],
  summary: 'List API keys, the newest first',
  headers: CallerHeaders,
  querystring: KeysQuery,
  response: { 200: KeyListAnswer, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/api-keys. */
function listKeysRoute(app: RestApp, keys: ApiKeys): void {
  app.get('/v1/api-keys', { config: { access: 'read' }, schema: listKeysSchema }, async (request) => {
    const { all, ...page } = request.query;
    const asked = { everybody: all === '' || all === 'true', ...pageAsked(page, MOST_KEYS_LISTED) };
    const { items, ...next } = await keys.list(callerOf(request), asked);
    return { keys: items, ...next };
  });
}

const validateKeySchema = {
  tags: ['api keys'],
  summary: 'Say whether a text is a live API key of the tenant',
  headers: CallerHeaders,
  body: ValidateKeyBody,
  response: { 200: ValidateKeyAnswer, ...problemSchemas({ style: 'coded', hasBody: true }) },
};

/** POST /v1/api-keys/validate. */
function validateKeyRoute(app: RestApp, keys: ApiKeys): void {
  app.post('/v1/api-keys/validate', { config: { access: 'read' }, schema: validateKeySchema }, async (request) => {
    const key = await keys.validate(callerOf(request), request.body.key);
    return { valid: key !== null, key };
  });
}

const revokeKeySchema = {
  tags: ['api keys'],
  summary: 'Revoke an API key, on every node within a second',
  headers: CallerHeaders,
  params: KeyIdParams,
  response: { 200: ApiKeyAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404] }) },
};

/** DELETE /v1/api-keys/{id}. What the key made is worth nothing with it. */
function revokeKeyRoute(app: RestApp, keys: ApiKeys): void {
  const config = { access: 'read', scope: { area: 'keys', action: 'write' } } as const;
  app.delete('/v1/api-keys/:id', { config, schema: revokeKeySchema }, async (request) =>
    keys.revoke(callerOf(request), request.params.id),
  );
}

const KEYS = [createKeyRoute, listKeysRoute, getKeyRoute, revokeKeyRoute, validateKeyRoute];

/** /v1/api-keys, on nodes that keep keys. */
export function keyRoutes(app: RestApp, { keys }: RestParts): void {
  if (keys === undefined) return;
  for (const route of KEYS) route(app, keys);
}

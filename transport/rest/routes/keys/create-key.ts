import type { ApiKeys } from '../../../../security/api.ts';
import type { RestApp } from '../../parts.ts';
import { keyedCallerOf } from '../../request-context.ts';
import { MadeKeyAnswer, NewKeyBody } from '../../schemas/api-keys.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';

const schema = {
  tags: ['api keys'],
  summary: 'Make an API key',
  description: 'It acts as its maker, with the rights of this moment, within its scopes. The key is shown this once.',
  headers: CallerHeaders,
  body: NewKeyBody,
  response: { 200: MadeKeyAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [409] }) },
};

/** POST /v1/api-keys. Whoever may look may make keys: they give no more than their maker has. */
export function createKeyRoute(app: RestApp, keys: ApiKeys): void {
  const config = { access: 'read', scope: { area: 'keys', action: 'write' } } as const;
  app.post('/v1/api-keys', { config, schema }, async (request) => {
    const { name, scopes, expires_in } = request.body;
    return keys.create(keyedCallerOf(request), { name, scopes, expiresInSeconds: expires_in });
  });
}

import type { ApiKeys } from '../../../../security/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { ApiKeyAnswer, KeyIdParams } from '../../schemas/api-keys.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';

const schema = {
  tags: ['api keys'],
  summary: 'Revoke an API key, on every node within a second',
  headers: CallerHeaders,
  params: KeyIdParams,
  response: { 200: ApiKeyAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404] }) },
};

/** DELETE /v1/api-keys/{id}. What the key made is worth nothing with it. */
export function revokeKeyRoute(app: RestApp, keys: ApiKeys): void {
  const config = { access: 'read', scope: { area: 'keys', action: 'write' } } as const;
  app.delete('/v1/api-keys/:id', { config, schema }, async (request) =>
    keys.revoke(callerOf(request), request.params.id),
  );
}

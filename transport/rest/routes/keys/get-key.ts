import type { ApiKeys } from '../../../../security/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { ApiKeyAnswer, KeyIdParams } from '../../schemas/api-keys.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';

const schema = {
  tags: ['api keys'],
  summary: 'Show an API key, never the key itself',
  headers: CallerHeaders,
  params: KeyIdParams,
  response: { 200: ApiKeyAnswer, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/api-keys/{id}. */
export function getKeyRoute(app: RestApp, keys: ApiKeys): void {
  app.get('/v1/api-keys/:id', { config: { access: 'read' }, schema }, async (request) =>
    keys.get(callerOf(request), request.params.id),
  );
}

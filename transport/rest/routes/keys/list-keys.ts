import type { ApiKeys } from '../../../../security/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { KeyListAnswer, KeysQuery, MOST_KEYS_LISTED } from '../../schemas/api-keys.ts';
import { CallerHeaders, pageAsked } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';

const schema = {
  tags: ['api keys'],
  summary: 'List API keys, the newest first',
  headers: CallerHeaders,
  querystring: KeysQuery,
  response: { 200: KeyListAnswer, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/api-keys. */
export function listKeysRoute(app: RestApp, keys: ApiKeys): void {
  app.get('/v1/api-keys', { config: { access: 'read' }, schema }, async (request) => {
    const { all, ...page } = request.query;
    const asked = { everybody: all === '' || all === 'true', ...pageAsked(page, MOST_KEYS_LISTED) };
    const { items, ...next } = await keys.list(callerOf(request), asked);
    return { keys: items, ...next };
  });
}

import type { SecretStore } from '../../../../security/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { MOST_SECRETS_LISTED, SecretListAnswer, SecretsQuery } from '../../schemas/secrets.ts';

const schema = {
  tags: ['secrets'],
  summary: 'List secrets of the tenant by path, never their values',
  headers: CallerHeaders,
  querystring: SecretsQuery,
  response: { 200: SecretListAnswer, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/secrets. */
export function listSecretsRoute(app: RestApp, secrets: SecretStore): void {
  app.get('/v1/secrets', { config: { access: 'write', scope: LOOK }, schema }, async (request) => {
    const { prefix, limit } = request.query;
    const found = await secrets.list(callerOf(request), { prefix, limit: Math.min(limit, MOST_SECRETS_LISTED) });
    return { secrets: [...found] };
  });
}

/** Only who may write secrets may look at their paths; a key needs no more than `secrets:read` for it. */
export const LOOK = { area: 'secrets', action: 'read' } as const;

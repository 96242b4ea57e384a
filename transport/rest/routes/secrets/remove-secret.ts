import type { SecretStore } from '../../../../security/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { SecretPathParams, SecretRemovedAnswer, SecretVersionQuery } from '../../schemas/secrets.ts';

const schema = {
  tags: ['secrets'],
  summary: 'Delete a secret with all its versions, or one earlier version',
  headers: CallerHeaders,
  params: SecretPathParams,
  querystring: SecretVersionQuery,
  response: { 200: SecretRemovedAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404] }) },
};

/** DELETE /v1/secrets/{path}. */
export function removeSecretRoute(app: RestApp, secrets: SecretStore): void {
  app.delete('/v1/secrets/:path', { config: { access: 'write' }, schema }, async (request) => {
    const { path } = request.params;
    const version = request.query.version === undefined ? undefined : Number(request.query.version);
    await secrets.remove(callerOf(request), path, version);
    return { path, version: version ?? null, deleted: true as const };
  });
}

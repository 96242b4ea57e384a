import type { SecretStore } from '../../../../security/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { SecretAnswer, SecretPathParams } from '../../schemas/secrets.ts';
import { LOOK } from './list-secrets.ts';

const schema = {
  tags: ['secrets'],
  summary: 'Show a secret: versions and times, never its value',
  headers: CallerHeaders,
  params: SecretPathParams,
  response: { 200: SecretAnswer, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/secrets/{path}. */
export function getSecretRoute(app: RestApp, secrets: SecretStore): void {
  app.get('/v1/secrets/:path', { config: { access: 'write', scope: LOOK }, schema }, async (request) =>
    secrets.get(callerOf(request), request.params.path),
  );
}

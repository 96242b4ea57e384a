import type { SecretStore } from '../../../../security/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { SecretAnswer, SecretBody, SecretPathParams } from '../../schemas/secrets.ts';

const schema = {
  tags: ['secrets'],
  summary: 'Create or rotate a secret of this node',
  description: 'The value there was is kept as an earlier version.',
  headers: CallerHeaders,
  params: SecretPathParams,
  body: SecretBody,
  response: { 200: SecretAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** PUT /v1/secrets/{path}. */
export function putSecretRoute(app: RestApp, secrets: SecretStore): void {
  app.put('/v1/secrets/:path', { config: { access: 'write' }, schema }, async (request) => {
    const { value, expect } = request.body;
    return secrets.put(callerOf(request), request.params.path, value, expect);
  });
}

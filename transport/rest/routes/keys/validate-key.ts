import type { ApiKeys } from '../../../../security/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { ValidateKeyAnswer, ValidateKeyBody } from '../../schemas/api-keys.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';

const schema = {
  tags: ['api keys'],
  summary: 'Say whether a text is a live API key of the tenant',
  headers: CallerHeaders,
  body: ValidateKeyBody,
  response: { 200: ValidateKeyAnswer, ...problemSchemas({ style: 'coded', hasBody: true }) },
};

/** POST /v1/api-keys/validate. */
export function validateKeyRoute(app: RestApp, keys: ApiKeys): void {
  app.post('/v1/api-keys/validate', { config: { access: 'read' }, schema }, async (request) => {
    const key = await keys.validate(callerOf(request), request.body.key);
    return { valid: key !== null, key };
  });
}

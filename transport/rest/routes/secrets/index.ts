import type { RestApp, RestParts } from '../../parts.ts';
import { getSecretRoute } from './get-secret.ts';
import { listSecretsRoute } from './list-secrets.ts';
import { putSecretRoute } from './put-secret.ts';
import { removeSecretRoute } from './remove-secret.ts';

/** /v1/secrets, on nodes that keep secrets. */
export function secretRoutes(app: RestApp, { secretStore }: RestParts): void {
  if (secretStore === undefined) return;
  for (const route of [listSecretsRoute, getSecretRoute, putSecretRoute, removeSecretRoute]) route(app, secretStore);
}

import type { RestApp, RestParts } from '../../parts.ts';
import { createKeyRoute } from './create-key.ts';
import { getKeyRoute } from './get-key.ts';
import { listKeysRoute } from './list-keys.ts';
import { revokeKeyRoute } from './revoke-key.ts';
import { validateKeyRoute } from './validate-key.ts';

const KEYS = [createKeyRoute, listKeysRoute, getKeyRoute, revokeKeyRoute, validateKeyRoute];

/** /v1/api-keys, on nodes that keep keys. */
export function keyRoutes(app: RestApp, { keys }: RestParts): void {
  if (keys === undefined) return;
  for (const route of KEYS) route(app, keys);
}

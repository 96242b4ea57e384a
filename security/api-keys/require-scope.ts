import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Action } from '../policy.ts';
import type { Caller, KeyGrant } from './api.ts';
import { holds, type ScopeArea, scopeOf } from './scopes.ts';

/**
 * Who calls without the key, which is no matter of messages, and the key's grant. Throws `forbidden` when the caller came
 * by a key that lacks the scope for this action in this area; `undefined`: an area that only `*` reaches.
 */
export function requireScope(
  caller: Caller,
  area: ScopeArea | undefined,
  action: Action,
): { readonly identity: Identity; readonly key: KeyGrant | null } {
  const { key = null, ...identity } = caller;
  const scope = area === undefined ? '*' : scopeOf(area, action);
  if (key === null || holds(key.scopes, scope)) return { identity, key };
  throw new SvcError('forbidden', `The API key lacks scope ${scope}.`);
}

import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import type { CatalogScope, CatalogStatus } from './api.ts';

/**
 * In whose name a run of this goes on: what is started of a user's own (scope user) is that user's own too, and all that is
 * started below it.
 */
export const actingFor = (identity: Identity, { scope }: { readonly scope: CatalogScope }): Identity =>
  scope === 'user' ? { ...identity, confidential: true } : identity;

/**
 * The one check before a run starts, whoever starts it: throws `failed_precondition` naming the status of what is paused
 * or archived. What runs already goes on.
 */
export function requireStartable(found: { readonly name: string; readonly status: CatalogStatus }): void {
  if (found.status === 'deployed') return;
  throw new SvcError('failed_precondition', `${found.name} is ${found.status}: nothing of it can be started`, {
    field: 'status',
  });
}

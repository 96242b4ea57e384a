import { SvcError } from '../runtime/errors.ts';
import type { CatalogStatus } from './api.ts';

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

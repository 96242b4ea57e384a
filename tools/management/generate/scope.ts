import type { CatalogScope } from '../../../catalog/api.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { requireRole } from '../../../security/api.ts';

/**
 * Where what somebody creates stands: in the tenant for those who may change what is deployed there. Others come here by
 * the authoring agents alone, which act as their caller under a wider context; what these make is the caller's own, so
 * that nobody's words replace an agent of the tenant.
 */
export function scopeOfNew(identity: Identity): CatalogScope {
  try {
    requireRole(identity, 'write');
    return 'tenant';
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'forbidden') return 'user';
    throw thrown;
  }
}

import type { CatalogReader, CatalogScope } from '../../catalog/api.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { mayActFor, requireRole } from '../../security/api.ts';
import type { ToolCall } from '../tool.ts';

/** Who asks: whoever started the execution that calls, or the caller of /mcp. */
export const callerOf = ({ run, tenant }: ToolCall): Identity => ({ ...run.subject.principal, tenant });

/** Whose eyes see the catalog. */
export const readerOf = ({ tenant, subject }: Identity): CatalogReader => ({ tenant, subject });

/**
 * The caller in the tenant that `tenant_id` names (original-facts 4): absent it is its own; another one's is for service
 * accounts that may act for it, and everyone else gets the answer of an unknown thing, `not_found` with the text `missing`.
 */
export function inTenant(identity: Identity, tenantId: string | undefined, missing: string): Identity {
  if (tenantId === undefined || tenantId === identity.tenant) return identity;
  if (!mayActFor(identity, tenantId)) throw new SvcError('not_found', missing);
  return { ...identity, tenant: tenantId };
}

/**
 * Throws `forbidden` unless the caller may change what stands there. A security context says which tools there are, the role
 * of who began it all what may be done with them, as over REST; what is a user's own it may always change.
 */
export function requireChange(identity: Identity, scope: CatalogScope): void {
  if (scope !== 'user') requireRole(identity, 'write');
}

/** Kinds of identities that look with another's eyes: those that act for others. */
const FOR_OTHERS: readonly Identity['kind'][] = ['local', 'operator', 'service_account'];

/** What `user_id` sees (svc.workflow.list): the caller's own by default, another's only for those that act for others. */
export function eyesOf(identity: Identity, userId: string | undefined): CatalogReader {
  if (userId === undefined || userId === identity.subject) return readerOf(identity);
  if (!FOR_OTHERS.includes(identity.kind)) throw new SvcError('not_found', 'user not found');
  return { tenant: identity.tenant, subject: userId };
}

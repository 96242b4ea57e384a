import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { ADMIN_ROLE, OPERATOR_ROLE } from '../../security/policy.ts';
import type { CatalogScope } from '../api.ts';
import type { ShelfKind } from './kind.ts';
import type { Place } from './record.ts';

type Kind = Pick<ShelfKind<never>, 'noun'>;

/** The operator role: the local operator, or a person of the system realm with the role (decided.md "Identity"). */
const isOperator = ({ kind, roles }: Identity): boolean =>
  kind === 'local' || (kind === 'operator' && (roles.includes(ADMIN_ROLE) || roles.includes(OPERATOR_ROLE)));

/** An administrator of the tenant it acts in, or an operator. */
export const isTenantAdmin = (identity: Identity): boolean =>
  isOperator(identity) || (identity.kind === 'tenant_user' && identity.roles.includes(ADMIN_ROLE));

/** Throws `forbidden` unless the identity may deploy to this scope (spec 3, metadata rule 4). */
export function requireDeploy({ noun }: Kind, identity: Identity, scope: CatalogScope): void {
  if (scope === 'global' && !isOperator(identity))
    throw new SvcError('forbidden', `scope global: only an operator may change global ${noun}s`);
}

/** Throws `forbidden` unless the identity may delete, pause or archive what stands there. */
export function requireChange(kind: Kind, identity: Identity, place: Place): void {
  requireDeploy(kind, identity, place.scope);
  if (place.scope === 'user' && place.owner !== identity.subject && !isTenantAdmin(identity))
    throw new SvcError('forbidden', `the ${kind.noun} belongs to another user`);
}

/** Throws `forbidden` unless the identity may move it (spec 3, Authentication 3; decided.md "Identity"). */
export function requireScopeChange(kind: Kind, identity: Identity, from: CatalogScope, to: CatalogScope): void {
  requireDeploy(kind, identity, from);
  requireDeploy(kind, identity, to);
  if (!isTenantAdmin(identity))
    throw new SvcError('forbidden', 'only an operator or an administrator of the tenant may promote and demote');
}

import { SvcError } from '../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../runtime/identity.ts';

const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Lower-case letters, digits and inner hyphens, 1 to 63 characters. */
export const isTenantSlug = (value: string): boolean => SLUG.test(value);

/**
 * The tenant in which a service account acts: that of its `X-Tenant-Id`, else `svc-system` (H6). Throws `invalid_argument` for
 * a header that is not a slug.
 */
export function delegatedTenant(tenantHeader: string | undefined): string {
  if (tenantHeader === undefined) return SYSTEM_TENANT;
  if (!isTenantSlug(tenantHeader)) {
    throw new SvcError(
      'invalid_argument',
      'X-Tenant-Id must be a tenant slug: lower-case letters, digits and inner hyphens, at most 63 characters',
      { field: 'X-Tenant-Id' },
    );
  }
  return tenantHeader;
}

/** Entry of `service_accounts.tenants` that matches every tenant. */
const EVERY_TENANT = '*';

/** Whether a caller may act in another tenant: a service account, in the tenants listed for it. */
export const mayActFor = ({ kind, tenants = [] }: Pick<Identity, 'kind' | 'tenants'>, tenant: string): boolean =>
  kind === 'service_account' && (tenants.includes(tenant) || tenants.includes(EVERY_TENANT));

/**
 * What a call does: `read`; `run` starts or cancels executions; `write` changes deployments or removes records; `audit` reads
 * what all callers of the tenant did. Actions on the
 * fleet, which belongs to no tenant: `inspect` reads it, `operate` drains, removes and configures nodes, `break` injects faults.
 */
export type Action = 'read' | 'run' | 'write' | 'audit' | FleetAction;

type FleetAction = 'inspect' | 'operate' | 'break';

export const ADMIN_ROLE = 'svc:admin';

export const OPERATOR_ROLE = 'svc:operator';

export const READONLY_ROLE = 'svc:readonly';

const EVERYTHING: readonly Action[] = ['read', 'run', 'write', 'audit'];

const USE: readonly Action[] = ['read', 'run'];

const LOOK: readonly Action[] = ['read', 'audit'];

const NOTHING: readonly Action[] = [];

const FLEET: readonly string[] = ['inspect', 'operate', 'break'] satisfies FleetAction[];

const isFleetAction = (action: Action): action is FleetAction => FLEET.includes(action);

const USERS = new Set<Identity['kind']>(['consumer', 'tenant_user']);

/** Actions of an identity in its own tenant; the default is to deny. */
function allowedActions(identity: Identity): readonly Action[] {
  if (identity.kind === 'local') return EVERYTHING;
  if (identity.kind === 'actor') return NOTHING;
  const writes = identity.roles.includes(ADMIN_ROLE) || identity.roles.includes(OPERATOR_ROLE);
  if (writes && identity.kind !== 'consumer') return EVERYTHING;
  if (identity.roles.includes(READONLY_ROLE)) return identity.kind === 'consumer' ? ['read'] : LOOK;
  if (identity.kind === 'service_account') return EVERYTHING;
  return USERS.has(identity.kind) ? USE : NOTHING;
}

/** The fleet is for operators only; roles in a tenant do not apply. */
function mayInFleet(identity: Identity, action: FleetAction): boolean {
  if (identity.kind === 'local') return true;
  if (identity.kind !== 'operator') return false;
  const { roles } = identity;
  if (roles.includes(ADMIN_ROLE)) return true;
  if (roles.includes(OPERATOR_ROLE)) return action !== 'break';
  return roles.includes(READONLY_ROLE) && action === 'inspect';
}

/**
 * Whether the identity has its own tenant and pays for it: a consumer of a tier above free. It may keep volumes there (W38).
 */
const keepsVolumes = ({ kind, tier, roles }: Identity): boolean =>
  kind === 'consumer' && tier !== 'free' && !roles.includes(READONLY_ROLE);

/**
 * Throws `forbidden` unless the identity may change volumes of its tenant: with the role to write, or as a consumer of a paid
 * tier.
 */
export function requireVolumeRole(identity: Identity): void {
  if (!keepsVolumes(identity)) requireRole(identity, 'write');
}

/** Whether the identity may do this in its own tenant. */
export const allows = (identity: Identity, action: Action): boolean =>
  isFleetAction(action) ? mayInFleet(identity, action) : allowedActions(identity).includes(action);

/**
 * Throws `forbidden` unless the identity may do this in its own tenant (H7). Every call acts in `identity.tenant`; no other
 * tenant can be reached.
 */
export function requireRole(identity: Identity, action: Action): void {
  if (allows(identity, action)) return;
  throw new SvcError('forbidden', `The caller's role does not allow the action ${action}.`);
}

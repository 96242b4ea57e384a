import { invalidField, SvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import { ADMIN_ROLE, allows, isTenantSlug } from '../tenant.ts';

/** Maximum number of secrets of a tenant. */
export const MOST_SECRETS = 1_000;

/** Maximum number of earlier versions of a secret; the oldest are deleted. */
export const MOST_EARLIER = 10;

const MAX_SECRET_BYTES = 65_000;

const PART = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$/;

const MAX_PATH_CHARS = 200;

const MAX_PARTS = 8;

/** Directory of the other tenants, in that of the node's own tenant. */
export const TENANTS = 'tenants';

/**
 * Throws `forbidden` unless the caller manages the secrets of its tenant: an operator in the node's own tenant, an administrator
 * in any other. Service accounts do not.
 */
export function requireKeeper(identity: Identity): void {
  const { kind, roles, tenant } = identity;
  if (tenant !== SYSTEM_TENANT && !isTenantSlug(tenant)) throw new SvcError('forbidden');
  if (kind === 'local' || (kind === 'operator' && allows(identity, 'operate'))) return;
  if (kind === 'tenant_user' && roles.includes(ADMIN_ROLE)) return;
  throw new SvcError('forbidden', 'Only operators and administrators of a tenant can manage secrets.');
}

/** Throws `invalid_argument` naming the field, never the value. */
export function checkSecretValue(value: string): void {
  const wrong = (text: string): SvcError => invalidField('value', text);
  if (value === '') throw wrong('expected a value');
  if (Buffer.byteLength(value) > MAX_SECRET_BYTES) throw wrong(`expected at most ${MAX_SECRET_BYTES} bytes`);
  if (!value.isWellFormed()) throw wrong('expected Unicode text');
}

/** Whether all parts of the path are letters, digits, dots, dashes and underscores. */
export function isSecretPath(tenant: string, path: string): boolean {
  const parts = path.split('/');
  if (path.length > MAX_PATH_CHARS || parts.length > MAX_PARTS || !parts.every((part) => PART.test(part))) return false;
  return tenant !== SYSTEM_TENANT || parts[0] !== TENANTS;
}

/**
 * Throws `invalid_argument` unless `isSecretPath`. So no path leaves the directory, is hidden, or names an earlier version, which
 * contains an `@`.
 */
export function checkSecretPath(tenant: string, path: string): string {
  if (isSecretPath(tenant, path)) return path;
  if (tenant === SYSTEM_TENANT && path.startsWith(`${TENANTS}/`)) {
    throw wrongPath(`${TENANTS}/ holds the secrets of other tenants`);
  }
  const parts = `${MAX_PARTS} parts of letters, digits, dots, dashes and underscores with slashes between them`;
  throw wrongPath(`expected at most ${parts}, at most ${MAX_PATH_CHARS} characters`);
}

const wrongPath = (text: string): SvcError => invalidField('path', text);

export const secretNotFound = (): SvcError => new SvcError('not_found', 'secret not found');

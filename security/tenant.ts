import { SvcError } from '../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../runtime/identity.ts';

const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Lower-case letters, digits and inner hyphens, 1 to 63 characters. */
export const isTenantSlug = (value: string): boolean => SLUG.test(value);

/**
 * Tenant a service account acts in: the one of its `X-Tenant-Id`, else `svc-system` (spec 2 "Authentication").
 * Throws `invalid_argument` for a header that is no slug.
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

/** Entry of `service_accounts.tenants` that stands for every tenant. */
const EVERY_TENANT = '*';

/** Whether a caller may act in a tenant that is not its own: a service account, for the tenants named to it. */
export const mayActFor = ({ kind, tenants = [] }: Pick<Identity, 'kind' | 'tenants'>, tenant: string): boolean =>
  kind === 'service_account' && (tenants.includes(tenant) || tenants.includes(EVERY_TENANT));

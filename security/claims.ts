import { createHash } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { type Identity, SYSTEM_TENANT } from '../runtime/identity.ts';
import { ADMIN_ROLE, OPERATOR_ROLE, READONLY_ROLE } from './policy.ts';
import type { ClaimNames, RealmSettings } from './settings.ts';
import { delegatedTenant, isTenantSlug } from './tenant.ts';

const KNOWN_ROLES = [ADMIN_ROLE, OPERATOR_ROLE, READONLY_ROLE];
const TIERS = ['free', 'pro', 'business', 'enterprise'] as const;
const MAX_SUBJECT = 256;

/** A token that is signed well but says something no identity can be made of. */
export class UnusableClaim extends Error {
  override readonly name = 'UnusableClaim';
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

function rolesOf(claim: unknown): string[] {
  const said: unknown[] = Array.isArray(claim) ? claim : [claim];
  return KNOWN_ROLES.filter((role) => said.includes(role));
}

function tierOf(claim: unknown): Identity['tier'] {
  const said = text(claim)?.toLowerCase();
  return TIERS.find((tier) => tier === said) ?? 'free';
}

/**
 * A token of the client credentials flow: `azp` and no user (decided.md "Identity"). Providers put `azp` into users'
 * tokens too, so any claim that only a person has rules it out; Keycloak names its own `service-account-CLIENT`.
 */
function isClientItself(claims: JWTPayload): boolean {
  if (text(claims.azp) === undefined) return false;
  const login = text(claims.preferred_username);
  if (login !== undefined && !login.startsWith('service-account-')) return false;
  return ['email', 'name', 'given_name', 'family_name'].every((claim) => claims[claim] === undefined);
}

/** What the other realms make of one: two of them may give one subject to two people, and nobody enters another's tenant. */
export interface AmongRealms {
  /** Before each subject; empty for the first realm of its kind. */
  readonly subjectPrefix: string;
  /** Tenants that have a realm of their own. */
  readonly tenants: ReadonlySet<string>;
}

const ALONE: AmongRealms = { subjectPrefix: '', tenants: new Set() };

/** Of each realm, by issuer. Realms of kind `tenant` never meet: each has a tenant of its own. */
export function amongRealms(realms: readonly RealmSettings[]): ReadonlyMap<string, AmongRealms> {
  const tenants = new Set(realms.filter(({ kind }) => kind === 'tenant').map(({ slug }) => slug));
  return new Map(
    realms.map(({ issuerUrl, kind, slug }, at) => {
      const isFirst = realms.findIndex((realm) => realm.kind === kind) === at;
      return [issuerUrl, { tenants, subjectPrefix: isFirst || kind === 'tenant' ? '' : `${slug}/` }];
    }),
  );
}

/** Own tenant of a consumer: the claim, else one made of the subject. Never a tenant that others own. */
function consumerTenant(claim: unknown, subject: string, { tenants }: AmongRealms): string {
  const plain = `u-${subject}`;
  const own = isTenantSlug(plain) ? plain : `u-${createHash('sha256').update(subject).digest('hex').slice(0, 40)}`;
  const tenant = claim === undefined ? own : text(claim);
  if (tenant === undefined || !isTenantSlug(tenant)) throw new UnusableClaim('tenant claim is no slug');
  if (tenant === SYSTEM_TENANT) throw new UnusableClaim('tenant claim names the system tenant');
  if (tenants.has(tenant)) throw new UnusableClaim('tenant claim names a tenant with a realm of its own');
  return tenant;
}

/**
 * Identity of a verified token (decided.md "Identity"; the kinds of the public original). In the system realm a role
 * makes an operator, a client by itself a service account; a person without a known role is an operator who may do
 * nothing. Throws `UnusableClaim`, or `invalid_argument` for a bad `X-Tenant-Id` of a service account.
 */
export function identityOf(
  claims: JWTPayload,
  realm: RealmSettings,
  names: ClaimNames,
  tenantHeader: string | undefined,
  among = ALONE,
): Identity {
  const said = text(claims.sub);
  const subject = among.subjectPrefix + said;
  if (said === undefined || subject.length > MAX_SUBJECT) throw new UnusableClaim('sub is missing or too long');
  const roles = rolesOf(claims[names.role]);
  const tier = tierOf(claims[names.tier]);
  switch (realm.kind) {
    case 'consumer':
      return {
        kind: 'consumer',
        subject,
        tenant: consumerTenant(claims[names.tenant], subject, among),
        roles: roles.filter((role) => role === READONLY_ROLE),
        tier,
      };
    case 'tenant':
      return { kind: 'tenant_user', subject, tenant: realm.slug, roles, tier };
    case 'system':
      if (claims[names.role] === undefined && isClientItself(claims)) {
        return { kind: 'service_account', subject, tenant: delegatedTenant(tenantHeader), roles, tier };
      }
      return { kind: 'operator', subject, tenant: SYSTEM_TENANT, roles, tier };
  }
}

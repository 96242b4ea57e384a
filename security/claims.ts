import { createHash } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { SvcError } from '../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../runtime/identity.ts';
import { type ClaimNames, type RealmSettings, SERVICE_ACCOUNTS, type ServiceAccounts } from './settings.ts';
import { ADMIN_ROLE, delegatedTenant, isTenantSlug, mayActFor, OPERATOR_ROLE, READONLY_ROLE } from './tenant.ts';

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

/** Names under which providers say by which client a token was asked for: OpenID Connect, RFC 9068, Okta, Entra. */
const CLIENT_CLAIMS = ['azp', 'client_id', 'cid', 'appid'];
/** What only the token of a person who logged in says. */
const PERSON_CLAIMS = ['email', 'name', 'given_name', 'family_name', 'upn', 'sid', 'auth_time', 'nonce', 'uid'];
/** How a provider says in so many words that a token is a client's own: the claim, and its value for that. */
const OWN_GRANT: readonly (readonly [claim: string, value: string])[] = [
  ['gty', 'client-credentials'],
  ['idtyp', 'app'],
];

/** Whether anything in the token tells of a person. A token that tells nothing proves nothing. */
function tellsOfPerson(claims: JWTPayload, client: string): boolean {
  if (PERSON_CLAIMS.some((name) => claims[name] !== undefined)) return true;
  if (OWN_GRANT.some(([name, value]) => claims[name] !== undefined && claims[name] !== value)) return true;
  const login = text(claims.preferred_username);
  if (login !== undefined && login !== `service-account-${client}`) return true;
  // Auth0 names people CONNECTION|ID; Entra gives an application its own object id as subject, and a person another one.
  if (claims.sub?.includes('|') === true) return true;
  return claims.oid !== undefined && claims.oid !== claims.sub;
}

/**
 * Whether a client of the list asked for the token for itself. The list should name clients that no person logs in with:
 * tokens of people name their client too, so one that tells of a person is never a service account's.
 */
function isListedClient(claims: JWTPayload, clients: readonly string[]): boolean {
  const client = CLIENT_CLAIMS.map((name) => text(claims[name])).find((named) => named !== undefined);
  return client !== undefined && clients.includes(client) && !tellsOfPerson(claims, client);
}

/** By the mark of its realm alone: what a token lacks says nothing, for tokens of people may lack everything. */
function isServiceAccount(claims: JWTPayload, { mark }: ServiceAccounts, roleClaim: string): boolean {
  if ('clients' in mark) return isListedClient(claims, mark.clients);
  const [name, value] = 'role' in mark ? [roleClaim, mark.role] : [mark.claim.name, mark.claim.value];
  return [claims[name]].flat().includes(value);
}

/** A service account in the tenant that its header names. Throws `forbidden` for one it may not act for. */
function serviceAccount(
  person: Omit<Identity, 'kind' | 'tenant'>,
  { tenants }: ServiceAccounts,
  tenantHeader: string | undefined,
): Identity {
  const tenant = delegatedTenant(tenantHeader);
  const identity: Identity = { ...person, kind: 'service_account', tenant, tenants: [...tenants] };
  if (tenant === SYSTEM_TENANT || mayActFor(identity, tenant)) return identity;
  throw new SvcError('forbidden', `This service account may not act for tenant ${tenant}.`, { field: 'X-Tenant-Id' });
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
 * Identity of a verified token (H7). In the system realm the
 * realm's mark makes a service account; everyone else there is an operator, who without a known role may do nothing.
 * Throws `UnusableClaim`; for a service account `invalid_argument` for an `X-Tenant-Id` that is no slug and `forbidden`
 * for one that it may not act for.
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
  const accounts = realm.serviceAccounts ?? SERVICE_ACCOUNTS;
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
      if (isServiceAccount(claims, accounts, names.role)) {
        return serviceAccount({ subject, roles, tier }, accounts, tenantHeader);
      }
      return { kind: 'operator', subject, tenant: SYSTEM_TENANT, roles, tier };
  }
}

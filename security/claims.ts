import { createHash } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { SvcError } from '../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT, TIERS } from '../runtime/identity.ts';
import { type ClaimNames, type RealmSettings, SERVICE_ACCOUNTS, type ServiceAccounts } from './settings.ts';
import { ADMIN_ROLE, delegatedTenant, isTenantSlug, mayActFor, OPERATOR_ROLE, READONLY_ROLE } from './tenant.ts';

const KNOWN_ROLES = [ADMIN_ROLE, OPERATOR_ROLE, READONLY_ROLE];
const MAX_SUBJECT = 256;

/** A claim of a validly signed token from which no identity can be made. */
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

/** Claims that name the client of a token: OpenID Connect, RFC 9068, Okta, Entra. */
const CLIENT_CLAIMS = ['azp', 'client_id', 'cid', 'appid'];
/** Claims that only tokens of logged-in users have. */
const PERSON_CLAIMS = ['email', 'name', 'given_name', 'family_name', 'upn', 'sid', 'auth_time', 'nonce', 'uid'];
/** Claims, with their value, by which a provider marks a client's own token. */
const OWN_GRANT: readonly (readonly [claim: string, value: string])[] = [
  ['gty', 'client-credentials'],
  ['idtyp', 'app'],
];

/** Whether a claim shows that the token is a user's. The absence of such claims proves nothing. */
function isOfUser(claims: JWTPayload, client: string): boolean {
  if (PERSON_CLAIMS.some((name) => claims[name] !== undefined)) return true;
  if (OWN_GRANT.some(([name, value]) => claims[name] !== undefined && claims[name] !== value)) return true;
  const login = text(claims.preferred_username);
  if (login !== undefined && login !== `service-account-${client}`) return true;
  // Auth0 names users CONNECTION|ID. Entra: the subject of an application is its own object id, that of a user is not.
  if (claims.sub?.includes('|') === true) return true;
  return claims.oid !== undefined && claims.oid !== claims.sub;
}

/**
 * Whether the token is a listed client's own. The list should name clients without user logins: tokens of users name their client
 * too, so a token that is recognisably a user's is never a service account's.
 */
function isListedClient(claims: JWTPayload, clients: readonly string[]): boolean {
  const client = CLIENT_CLAIMS.map((name) => text(claims[name])).find((named) => named !== undefined);
  return client !== undefined && clients.includes(client) && !isOfUser(claims, client);
}

/** Decided by the mark of the realm only, never by missing claims, since tokens of users may lack any claim. */
function isServiceAccount(claims: JWTPayload, { mark }: ServiceAccounts, roleClaim: string): boolean {
  if ('clients' in mark) return isListedClient(claims, mark.clients);
  const [name, value] = 'role' in mark ? [roleClaim, mark.role] : [mark.claim.name, mark.claim.value];
  return [claims[name]].flat().includes(value);
}

/** A service account in the tenant of its header. Throws `forbidden` when it may not act in that tenant. */
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

/** Rules between realms: equal subjects of two realms are two users, and no realm reaches the tenant of another. */
export interface AmongRealms {
  /** Prefix of each subject; empty for the first realm of a kind. */
  readonly subjectPrefix: string;
  /** Tenants that have a realm of their own. */
  readonly tenants: ReadonlySet<string>;
}

const ALONE: AmongRealms = { subjectPrefix: '', tenants: new Set() };

/** The rules of each realm, by issuer. Realms of kind `tenant` need no prefix, since each has its own tenant. */
export function amongRealms(realms: readonly RealmSettings[]): ReadonlyMap<string, AmongRealms> {
  const tenants = new Set(realms.filter(({ kind }) => kind === 'tenant').map(({ slug }) => slug));
  return new Map(
    realms.map(({ issuerUrl, kind, slug }, at) => {
      const isFirst = realms.findIndex((realm) => realm.kind === kind) === at;
      return [issuerUrl, { tenants, subjectPrefix: isFirst || kind === 'tenant' ? '' : `${slug}/` }];
    }),
  );
}

/** Tenant of a consumer: from its claim, else derived from its subject. Never a tenant of others. */
function consumerTenant(claim: unknown, subject: string, { tenants }: AmongRealms): string {
  const plain = `u-${subject}`;
  const own = isTenantSlug(plain) ? plain : `u-${createHash('sha256').update(subject).digest('hex').slice(0, 40)}`;
  const tenant = claim === undefined ? own : text(claim);
  if (tenant === undefined || !isTenantSlug(tenant)) throw new UnusableClaim('tenant claim is not a slug');
  if (tenant === SYSTEM_TENANT) throw new UnusableClaim('tenant claim names the system tenant');
  if (tenants.has(tenant)) throw new UnusableClaim('tenant claim names a tenant with a realm of its own');
  return tenant;
}

/**
 * The identity of a verified token (H7). In the system realm the realm's mark identifies service accounts; all others are
 * operators, without any rights unless they have a known role. Throws `UnusableClaim`; for a service account `invalid_argument` for
 * an invalid `X-Tenant-Id`, `forbidden` for a tenant in which it may not act.
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

import type { ServiceAccountSettings } from '../manifests/node/identity.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import { SvcError } from '../runtime/errors.ts';
import { isTenantSlug } from './tenant.ts';

/** Which kind of users a realm has (H7). */
export type RealmKind = 'system' | 'consumer' | 'tenant';

/** One issuer of tokens. */
export interface RealmSettings {
  /** The tenant, for kind `tenant`. */
  readonly slug: string;
  /** Compared with the token's `iss`, character by character. */
  readonly issuerUrl: string;
  readonly jwksUri: string;
  /** Accepted `aud`. */
  readonly audience: string | readonly string[];
  readonly kind: RealmKind;
  /** Mark of service accounts, and the tenants that they may act for; default: role `svc:service`, no tenants. */
  readonly serviceAccounts?: ServiceAccounts;
}

/** A service account is recognised by a positive mark only, never by what its token lacks (H8). */
export interface ServiceAccounts {
  readonly mark:
    | { readonly role: string }
    | { readonly claim: { readonly name: string; readonly value: string } }
    | { readonly clients: readonly string[] };
  /** Tenants besides `svc-system`; `*` is every tenant. */
  readonly tenants: readonly string[];
}

const SERVICE_ROLE = 'svc:service';
export const SERVICE_ACCOUNTS: ServiceAccounts = { mark: { role: SERVICE_ROLE }, tenants: [] };

/** Names of the claims that can be configured. */
export interface ClaimNames {
  readonly role: string;
  readonly tenant: string;
  readonly tier: string;
}

export interface AuthenticatorSettings {
  /** Empty: no identity provider, which is allowed on loopback only (S2). */
  readonly realms: readonly RealmSettings[];
  /** Without realms: the token that calls must send to act as the local operator; absent: none is needed. */
  readonly localToken?: string;
  readonly claims?: Partial<ClaimNames>;
  /** Time for which fetched keys count as fresh. Default 300,000. */
  readonly jwksCacheTtlMs?: number;
  /** Time-out of a whole fetch. Default 8,000. */
  readonly requestTimeoutMs?: number;
}

/** The settings of `spec.iam` in the form that the authenticator takes. */
export function authenticatorSettings({ iam }: Pick<NodeSettings, 'iam'>): AuthenticatorSettings {
  return {
    realms: iam.realms.map((realm) => ({
      slug: realm.slug,
      issuerUrl: realm.issuer_url,
      jwksUri: realm.jwks_uri,
      audience: realm.audience,
      kind: realm.kind,
      serviceAccounts: realm.service_accounts && serviceAccounts(realm.service_accounts),
    })),
    jwksCacheTtlMs: iam.jwks_cache_ttl_seconds * 1_000,
    claims: iam.claims,
  };
}

function serviceAccounts({ role, claim, clients, tenants }: ServiceAccountSettings): ServiceAccounts {
  if (clients !== undefined) return { mark: { clients }, tenants };
  if (claim !== undefined) return { mark: { claim }, tenants };
  return { mark: { role: role ?? SERVICE_ROLE }, tenants };
}

export const CLAIM_NAMES: ClaimNames = { role: 'svc_role', tenant: 'tenant_id', tier: 'svc_tier' };

/** Throws `invalid_config` naming the realm and the invalid field. */
export function checkRealms(realms: readonly RealmSettings[]): void {
  const issuers = new Set<string>();
  const slugs = new Set<string>();
  for (const realm of realms) {
    const field = (name: string) => `realm ${realm.slug}: ${name}`;
    if (!isTenantSlug(realm.slug)) throw new SvcError('invalid_config', field('slug must be a tenant slug'));
    if (slugs.has(realm.slug)) throw new SvcError('invalid_config', field('slug is used by two realms'));
    slugs.add(realm.slug);
    if (realm.issuerUrl === '') throw new SvcError('invalid_config', field('issuer_url must not be empty'));
    if (issuers.has(realm.issuerUrl)) throw new SvcError('invalid_config', field('issuer_url is used by two realms'));
    issuers.add(realm.issuerUrl);
    const protocol = URL.parse(realm.jwksUri)?.protocol;
    if (protocol !== 'https:' && protocol !== 'http:') {
      throw new SvcError('invalid_config', field('jwks_uri must be an http or https URL'));
    }
    if (realm.audience.length === 0) throw new SvcError('invalid_config', field('audience must not be empty'));
  }
}

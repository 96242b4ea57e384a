import type { JWTPayload } from 'jose';
import { IdentityProvider, type SigningKey, sign, signingKey } from '../security/identity-provider.ts';

const AUDIENCE = 'svc-api';
const issuer = (slug: string): string => `https://idp.example/realms/${slug}`;

type RealmSlug = 'svc-system' | 'alpha' | 'beta' | 'people';

const KINDS: Readonly<Record<RealmSlug, 'system' | 'tenant' | 'consumer'>> = {
  'svc-system': 'system',
  alpha: 'tenant',
  beta: 'tenant',
  people: 'consumer',
};

interface Caller {
  readonly realm: RealmSlug;
  readonly tenant: string;
  readonly claims: JWTPayload;
  readonly tenantHeader?: string;
}

/** The mark of a service account in the realm of operators, for both tenants. */
const ROBOT = { sub: 'robot', azp: 'robot', svc_role: 'svc:service' };

/** Callers of every kind; `tenant` is the tenant in which each of them acts. */
export const CALLERS = {
  operator: { realm: 'svc-system', tenant: 'svc-system', claims: { sub: 'olga', svc_role: 'svc:operator' } },
  // For an operator the header has no effect.
  operatorNamingAlpha: {
    realm: 'svc-system',
    tenant: 'svc-system',
    claims: { sub: 'olga', svc_role: 'svc:operator' },
    tenantHeader: 'alpha',
  },
  readonly: { realm: 'svc-system', tenant: 'svc-system', claims: { sub: 'rita', svc_role: 'svc:readonly' } },
  service: { realm: 'svc-system', tenant: 'svc-system', claims: ROBOT },
  serviceForAlpha: {
    realm: 'svc-system',
    tenant: 'alpha',
    claims: ROBOT,
    tenantHeader: 'alpha',
  },
  serviceForBeta: {
    realm: 'svc-system',
    tenant: 'beta',
    claims: ROBOT,
    tenantHeader: 'beta',
  },
  alphaAdmin: { realm: 'alpha', tenant: 'alpha', claims: { sub: 'anna', svc_role: 'svc:admin' } },
  alphaUser: { realm: 'alpha', tenant: 'alpha', claims: { sub: 'andy' } },
  betaAdmin: { realm: 'beta', tenant: 'beta', claims: { sub: 'bert', svc_role: 'svc:admin' } },
  betaUserNamingAlpha: { realm: 'beta', tenant: 'beta', claims: { sub: 'bea' }, tenantHeader: 'alpha' },
  consumer: { realm: 'people', tenant: 'u-carl', claims: { sub: 'carl', svc_tier: 'free' } },
} as const satisfies Record<string, Caller>;

export type CallerName = keyof typeof CALLERS;
export const CALLER_NAMES = Object.keys(CALLERS) as readonly CallerName[];

const noBound = { minute: null, hour: null, day: null, week: null, month: null };
const unbounded = {
  ...{ agent_executions: noBound, workflow_executions: noBound, model_calls: noBound, model_tokens: noBound },
  tools: { 'fs.*': noBound, 'web.search': noBound, '*': noBound },
  concurrent_executions: null,
};

/** Identity providers of four realms on loopback: the system's, two tenants', and one of consumers. */
export class Realms implements AsyncDisposable {
  readonly #provider = new IdentityProvider();
  readonly #keys = new Map<RealmSlug, SigningKey>();

  private constructor() {}

  static async open(): Promise<Realms> {
    const realms = new Realms();
    await realms.#provider.listen();
    for (const slug of Object.keys(KINDS) as RealmSlug[]) realms.#keys.set(slug, await signingKey(`key-${slug}`));
    realms.#provider.keys = [...realms.#keys.values()];
    return realms;
  }

  /**
   * The `iam` block of a node's configuration, without rate limits: these tests make more calls than a user of the tier
   * may.
   */
  get spec(): Readonly<Record<string, unknown>> {
    const realms = Object.entries(KINDS).map(([slug, kind]) => ({
      slug,
      kind,
      issuer_url: issuer(slug),
      jwks_uri: this.#provider.jwksUri,
      audience: AUDIENCE,
      ...(kind === 'system' ? { service_accounts: { tenants: ['alpha', 'beta'] } } : {}),
    }));
    return { iam: { realms }, rate_limits: { tiers: { free: unbounded } } };
  }

  /** Headers of REST and metadata of gRPC. */
  async headers(name: CallerName): Promise<Record<string, string>> {
    const { realm, claims, tenantHeader }: Caller = CALLERS[name];
    const headers = await this.headersWith(realm, claims);
    return tenantHeader === undefined ? headers : { ...headers, 'x-tenant-id': tenantHeader };
  }

  /** The same for a caller that is not in the table. */
  async headersWith(realm: RealmSlug, claims: JWTPayload): Promise<Record<string, string>> {
    const key = this.#keys.get(realm);
    if (key === undefined) throw new Error(`no key for ${realm}`);
    const exp = Math.floor(Date.now() / 1_000) + 3_600;
    const token = await sign(key, { iss: issuer(realm), aud: AUDIENCE, exp, ...claims });
    return { authorization: `Bearer ${token}` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#provider.stop();
  }
}

import { z } from 'zod';
import { distinct, refuse } from '../expectation.ts';
import { secretText } from '../secret.ts';

const claim = z.string().min(1).max(200);

const url = z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }).max(2_000);

const seconds = (min: number, max: number) => z.number().int().min(min).max(max);

const slug = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'expected lower-case letters, digits and dashes');

/** `service_accounts` of a realm: the mark of service accounts, and the tenants for which they may act. */
const ServiceAccounts = z
  .strictObject({
    /** Value in the roles claim; the default mark is `svc:service`. */
    role: claim.optional(),
    claim: z.strictObject({ name: claim, value: claim }).optional(),
    /** Ids of clients that are not for people. */
    clients: z.array(claim).min(1).max(1_000).optional(),
    /** Tenants that `X-Tenant-Id` may name; `*` is any. */
    tenants: z
      .array(z.union([slug, z.literal('*')]))
      .max(10_000)
      .default([]),
  })
  .refine(({ role, claim: said, clients }) => [role, said, clients].filter((mark) => mark !== undefined).length <= 1, {
    error: 'expected one of role, claim and clients',
    params: { show: true },
  });

export type ServiceAccountSettings = z.output<typeof ServiceAccounts>;

const Realm = z.strictObject({
  /** The tenant, for kind tenant. */
  slug,
  /** Compared with the token's `iss`, character by character. */
  issuer_url: z.string().min(1).max(2_000),
  jwks_uri: url,
  /** Accepts plain http for a host other than loopback; anyone on the network path can then issue tokens. */
  insecure: z.boolean().default(false),
  audience: z.union([z.string().min(1).max(500), z.array(z.string().min(1).max(500)).min(1).max(20)]),
  kind: z.enum(['system', 'consumer', 'tenant']),
  service_accounts: ServiceAccounts.optional(),
});

/** `spec.iam`: identity providers. None is safe only on loopback (S2). */
export const NodeIam = z.strictObject({
  /** Without realms: whether calls from this machine need the token that the node writes to its data directory. */
  local: z.enum(['open', 'token']).default('open'),
  realms: z
    .array(Realm)
    .max(1_000)
    .superRefine((realms, context) => {
      for (const [index, { kind, service_accounts }] of realms.entries()) {
        if (kind === 'system' || service_accounts === undefined) continue;
        const message = `service accounts come from a realm of kind system, not from one of kind ${kind}`;
        refuse(context, [index, 'service_accounts'], message);
      }
    })
    .superRefine(distinct('slug', 'realms'))
    .superRefine(distinct('issuer_url', 'realms'))
    .default([]),
  jwks_cache_ttl_seconds: seconds(1, 86_400).default(300),
  claims: z
    .strictObject({
      role: claim.default('svc_role'),
      tenant: claim.default('tenant_id'),
      tier: claim.default('svc_tier'),
    })
    .prefault({}),
});

/** `spec.grpc_auth` (G2). Without realms no token is verified. */
export const NodeGrpcAuth = z.strictObject({
  enabled: z.boolean().default(true),
  exempt_methods: z
    .array(z.string().regex(/^\/[A-Za-z0-9_.]+\/[A-Za-z0-9_]+$/, 'expected /package.Service/Method'))
    .max(100)
    .default(['/svc.v1.InnerLoop/Generate']),
});

/** `spec.seal`: tokens of agents, signed with the keys of `spec.signing`. */
export const NodeSeal = z.strictObject({
  issuer: claim.default('svc-orchestrator'),
  audiences: z.array(claim).min(1).max(20).default(['svc-agents']),
  token_ttl_seconds: seconds(60, 86_400).default(3_600),
});

const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, 'expected letters, digits, ".", "_" and "-"');

/** A key of the transit engine of HashiCorp Vault or OpenBao. */
const vaultTransit = (key: string) =>
  z
    .strictObject({
      address: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }).max(2_000),
      token: secretText.optional(),
      namespace: z.string().min(1).max(200).optional(),
      mount: name.default('transit'),
      key: name.default(key),
      approle: z.strictObject({ role_id: z.string().min(1).max(500), secret_id: secretText }).optional(),
    })
    .superRefine((vault, context) => {
      if ((vault.token === undefined) === (vault.approle === undefined))
        refuse(context, ['token'], 'expected either token or approle');
    });

/**
 * `spec.signing`: the RS256 keys of node tokens (G20, S3). `file` keeps them in the data
 * directory, mode 0600; `vault` leaves them in the transit engine of HashiCorp Vault or OpenBao.
 */
export const NodeSigning = z
  .strictObject({
    backend: z.enum(['file', 'vault']).default('file'),
    /** Age at which a new key replaces it; the old one verifies until its last token has expired. */
    rotate_after_days: z.number().int().min(1).max(3_650).default(90),
    vault: vaultTransit('svc-node-token').optional(),
  })
  .superRefine((signing, context) => {
    if (signing.backend === 'vault' && signing.vault === undefined)
      refuse(context, ['vault'], 'required when backend is vault');
  });

/** `spec.secrets`: the store of the tenants' secrets, and the keys that encrypt them (docs/operations/secrets.md). */
export const NodeSecrets = z
  .strictObject({
    /** Absent: a key file in the data directory of an embedded node; in a fleet, secrets are files of each node. */
    keys: z
      .strictObject({
        backend: z.enum(['file', 'vault']).default('file'),
        /** The same file on every node, mode 0600. Default, embedded only: `secret-keys.json` in the data directory. */
        file: z.string().min(1).max(4_096).optional(),
        vault: vaultTransit('svc-secrets').optional(),
      })
      .superRefine(({ backend, vault }, context) => {
        if (backend === 'vault' && vault === undefined) refuse(context, ['vault'], 'required when backend is vault');
      })
      .optional(),
    /** A change on one node is seen by the others within this time. */
    refresh_secs: seconds(1, 86_400).default(5),
    /** How long a value is used while the store cannot be reached. */
    lease_secs: seconds(1, 86_400).default(300),
  })
  .superRefine(({ refresh_secs, lease_secs }, context) => {
    if (lease_secs < refresh_secs) refuse(context, ['lease_secs'], `expected at least refresh_secs, ${refresh_secs}`);
  });

/** `spec.encryption`: further data that the keys of `spec.secrets.keys` encrypt (docs/operations/payload-encryption.md). */
export const NodeEncryption = z.strictObject({
  payloads: z
    .strictObject({
      /** Tenants whose messages, states and results are encrypted in the stores. */
      tenants: z.union([z.literal('all'), z.array(z.string().min(1).max(63)).max(10_000)]).default([]),
    })
    .prefault({}),
});

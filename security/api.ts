import type { Rates, RateWindow } from '../manifests/node/rate-limits.ts';
import type { Page, PageAsked } from '../runtime/documents/pages.ts';
import type { Identity } from '../runtime/identity.ts';
import type { Caller } from './api-keys/api.ts';
import type { ProvenCall } from './node-proofs/proof.ts';
import type { NodeIdentity } from './node-tokens.ts';

export type { ApiKeys, ApiKeyView, Caller, KeyGrant, KeyVerifier, NewApiKey } from './api-keys/api.ts';
export { requireScope, SCOPES, type ScopeArea } from './api-keys/api.ts';
export type { JoinTokens, JoinTokenView, NewJoinToken, NodeAdmission } from './join-tokens/scope.ts';
export type { NodeEnvelope } from './node-envelope.ts';
export { openNodeEnvelope, sealNodeEnvelope } from './node-envelope.ts';
export { parsePublicKeyPem } from './node-key.ts';
export { PROOF_KEY, type ProvenCall } from './node-proofs/proof.ts';
export type { NodeIdentity, NodeTokens } from './node-tokens.ts';
export type { SecurityContexts } from './policy/api.ts';
export { isListed, type NamedTool } from './policy/matching.ts';
export { domainProblem } from './policy/policy.ts';
export { decodeBase64, parseAgentPublicKey, publicKeyText } from './seal/agent-key.ts';
export type {
  AgentClaims,
  AgentTokens,
  AuditSigner,
  ExecutionTokens,
  OpenedEnvelope,
  Refusal,
  RefusedEnvelope,
  SealEnvelope,
  SealEnvelopes,
  VerifiedCall,
} from './seal/api.ts';
export { payloadBytes } from './seal/strict-json.ts';
export type { SigningKeys } from './signed-token.ts';
export { bearerToken } from './signed-token.ts';
export { type Action, delegatedTenant, mayActFor, requireRole } from './tenant.ts';
export type { SignedDelivery, Webhooks } from './webhooks/deliveries.ts';
export type { BodySignature } from './webhooks/schemes.ts';
export { SCHEMES } from './webhooks/schemes.ts';

/** What a tier bounds (H27): `tool:NAME` is one call of that tool. */
export type Limited = 'agent_executions' | 'workflow_executions' | 'model_calls' | 'model_tokens' | `tool:${string}`;

/** Whose limits count. */
export type Principal = Pick<Identity, 'kind' | 'subject' | 'tier'> & { readonly tenant: string };

/**
 * Limits of a caller's tier, by setting, over all nodes (H27). Operators, service accounts, actors and the
 * local operator have none unless set.
 */
export interface TierLimits {
  /** Throws `rate_limited` with `retryAfterMs`, naming what is limited. */
  take(principal: Principal, what: Limited, units?: number): Promise<void>;
}

export type StartedKind = 'execution' | 'workflow';

/** How many executions of agents and workflows, taken together, a caller may have running at once. */
export interface RunningLimits {
  /** Takes a place for a start. Throws `rate_limited` when as many run as may, `unavailable` when nobody can say. */
  admit(principal: Principal, kind: StartedKind, id: string): Promise<void>;
  /** Gives it back: the start failed. One that ended gives it back by itself. */
  release(principal: Principal, id: string): Promise<void>;
}

/** Whose rates are overridden: a user's of a tenant, or those of each user of it. */
export interface OverrideTarget {
  readonly tenant: string;
  readonly subject?: string;
}

export interface RateOverride {
  readonly tenant: string;
  /** Null: every user of the tenant. */
  readonly subject: string | null;
  readonly rates: Rates;
  /** ISO 8601. */
  readonly updated_at: string;
  readonly updated_by: string;
}

/**
 * Rates that operators set at run time, in effect on every node within 2 s: a user's before its tenant's before the tier's,
 * and at each of these steps before what the settings say.
 */
export interface RateOverrides {
  /** Instead of what was set for the target before. Throws `invalid_argument`, `limit_reached`. */
  put(by: Pick<Identity, 'subject'>, target: OverrideTarget, rates: Rates): Promise<RateOverride>;
  list(of: Partial<OverrideTarget>, page: PageAsked): Promise<Page<RateOverride>>;
  /** Throws `not_found`. */
  remove(by: Pick<Identity, 'subject'>, target: OverrideTarget): Promise<void>;
}

/** What somebody has used of its limits. `limit` null: no bound. */
export interface UsedRates {
  readonly tenant: string;
  readonly subject: string;
  readonly kind: Identity['kind'];
  readonly tier: Identity['tier'];
  /** One for each bound; `name` as in `Limited`, for tools their pattern. */
  readonly buckets: {
    readonly name: string;
    readonly window: RateWindow;
    readonly used: number;
    readonly limit: number;
    /** ISO 8601, by the clock of the store. */
    readonly resets_at: string;
  }[];
  readonly concurrent_executions: { readonly used: number; readonly limit: number | null };
  readonly agents: { readonly limit: number | null };
}

export interface RateUsage {
  /** Throws `unavailable` when the counters cannot be reached. */
  of(principal: Principal): Promise<UsedRates>;
}

/** Who a call is from, as the transport received it. */
export interface Credentials {
  /** Value of the `authorization` header or metadata. */
  readonly authorization: string | undefined;
  /** Value of `X-Tenant-Id` / `x-tenant-id`: honoured for service accounts, ignored for everyone else. */
  readonly tenantHeader: string | undefined;
}

/** Turns credentials into who calls, the same for REST and gRPC (S1, S2). */
export interface Authenticator {
  /** False on a loopback node without an identity provider: every call is the local operator's. */
  readonly required: boolean;
  /**
   * Throws `unauthenticated` for a missing or bad token or API key, `unavailable` when it cannot be checked,
   * `invalid_argument` for a bad `tenantHeader` of a service account.
   */
  authenticate(credentials: Credentials): Promise<Caller>;
}

/** Secrets by reference (S3): `env:NAME`, `secret:PATH`, `literal:VALUE`; a plain value is itself. */
export interface Secrets {
  /** Throws `failed_precondition` naming the reference, never the value. */
  resolve(tenant: string, reference: string): Promise<string>;
}

/** A secret as it is shown: never its value. Times are ISO 8601. */
export interface SecretView {
  readonly path: string;
  /** How settings and manifests name it: `secret:PATH`. */
  readonly reference: string;
  readonly version: number;
  /** Earlier ones that are kept, each under `secret:PATH@VERSION`; the newest first. */
  readonly earlier: { readonly version: number; readonly reference: string }[];
  /** Null for a file that somebody put there by hand. */
  readonly created_at: string | null;
  readonly updated_at: string;
  readonly updated_by: string | null;
}

/** Keeps what `Secrets` resolves. Values go in and never come out; tenants are in every path. */
export interface SecretStore {
  /**
   * Puts a value in; the one that was there is kept as an earlier version. `expect` says what must be there before: throws
   * `conflict` for `absent`, `not_found` for `present`; `invalid_argument`, `limit_reached`.
   */
  put(identity: Identity, path: string, value: string, expect: 'absent' | 'present' | 'any'): Promise<SecretView>;
  /** Throws `not_found`. */
  get(identity: Identity, path: string): Promise<SecretView>;
  /** By path. */
  list(identity: Identity, of: { readonly prefix: string; readonly limit: number }): Promise<readonly SecretView[]>;
  /** The secret with all its versions, or one earlier version. Throws `not_found`. */
  remove(identity: Identity, path: string, version?: number): Promise<void>;
}

/** Who a receiver says it is, in the trailers of its answers: what senders need to make a proof for it. */
export interface Introduction {
  readonly nodeId: string;
  readonly life: string;
  /** Unix ms, by its clock. */
  readonly at: number;
}

/**
 * Proofs of calls between nodes (metadata `svc-proof`): what an envelope does not say, signed with the node's key. Implemented
 * by `createProofGuard`.
 */
export interface NodeProofs {
  introduction(): Introduction;
  /**
   * Throws `unauthenticated` with a reason for a proof that is not good for this call here and now, for one that was used
   * before, and for none where one is needed; `unavailable`, `rate_limited`. A node that sends a good one must do so from then on.
   */
  check(node: NodeIdentity, call: ProvenCall, proof: string | undefined): Promise<void>;
}

/** A certificate as files hold it, PEM, with its chain, leaf first. */
export interface Pem {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Authority that signs the certificates of those who connect; null: they need none. */
  readonly ca: Buffer | null;
}

/** A certificate that may be replaced while it is in use. Implemented by `CertificateFiles`. */
export interface Certificate {
  /** In force now. */
  readonly current: Pem;
  /** Called with each that comes into force from now on; the answer ends that. */
  onChange(listener: (pem: Pem) => void): () => void;
}

import type { Rates, RateWindow } from '../manifests/node/rate-limits.ts';
import type { Page, PageAsked } from '../runtime/documents/pages.ts';
import type { Identity } from '../runtime/identity.ts';
import type { Caller } from './api-keys/api.ts';
import type { ProvenCall } from './node-proofs/proof.ts';
import type { NodeIdentity } from './node-tokens.ts';

export type { ApiKeys, ApiKeyView, Caller, KeyGrant, KeyVerifier, NewApiKey } from './api-keys/api.ts';
export { heldScopes, requireScope, SCOPES, type ScopeArea } from './api-keys/api.ts';
export type {
  AuditedCall,
  AuditedCaller,
  AuditedEnd,
  AuditedOperation,
  AuditReader,
  ChainView,
  EntryFilter,
  ListedEntry,
  Occurrence,
  OperationAudit,
} from './audit/api.ts';
export { audited, endOf, isDenied } from './audit/api.ts';
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
export { type Action, allows, delegatedTenant, mayActFor, requireRole, requireVolumeRole } from './tenant.ts';
export type { SignedDelivery, Webhooks } from './webhooks/deliveries.ts';
export type { BodySignature } from './webhooks/schemes.ts';
export { type RepeatRules, SCHEMES } from './webhooks/schemes.ts';

/** What a tier limits (H27); `tool:NAME` is one call of that tool. */
export type Limited = 'agent_executions' | 'workflow_executions' | 'model_calls' | 'model_tokens' | `tool:${string}`;

/** The user whose limits apply. */
export type Principal = Pick<Identity, 'kind' | 'subject' | 'tier'> & { readonly tenant: string };

/**
 * Rate limits of a caller's tier, from the settings, counted over all nodes (H27). Operators, service accounts, actors and the
 * local operator have no limits unless the settings name them.
 */
export interface TierLimits {
  /** Counts `units` (default 1) against the limit. Throws `rate_limited` with `retryAfterMs`, naming the limit. */
  take(principal: Principal, what: Limited, units?: number): Promise<void>;
}

export type StartedKind = 'execution' | 'workflow';

/** Maximum number of executions, of agents and workflows together, that a caller may have running at once. */
export interface RunningLimits {
  /**
   * Takes a slot for a start. Throws `rate_limited` when all slots are taken, `unavailable` when the running ones cannot be
   * counted.
   */
  admit(principal: Principal, kind: StartedKind, id: string): Promise<void>;
  /** Frees the slot of a start that failed. The slot of an execution that ended is freed without a call. */
  release(principal: Principal, id: string): Promise<void>;
}

/** Whose rates an override sets: those of one user of a tenant, or of each user of the tenant. */
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
 * Rates that operators set at run time, in effect on all nodes within 2 s. The rates of the user win over those of the tenant,
 * and those over the rates of the tier; at each of these levels an override wins over the settings.
 */
export interface RateOverrides {
  /** Replaces the override of the target. Throws `invalid_argument`, `limit_reached`. */
  put(by: Pick<Identity, 'subject'>, target: OverrideTarget, rates: Rates): Promise<RateOverride>;
  list(of: Partial<OverrideTarget>, page: PageAsked): Promise<Page<RateOverride>>;
  /** Throws `not_found`. */
  remove(by: Pick<Identity, 'subject'>, target: OverrideTarget): Promise<void>;
}

/** Usage of a principal's limits. `limit` null: no limit. */
interface UsedRates {
  readonly tenant: string;
  readonly subject: string;
  readonly kind: Identity['kind'];
  readonly tier: Identity['tier'];
  /** One for each limit; `name` as in `Limited`, for tools their pattern. */
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

/** Credentials of a call, as the transport received them. */
export interface Credentials {
  /** Value of the `authorization` header or metadata. */
  readonly authorization: string | undefined;
  /** Value of `X-Tenant-Id` / `x-tenant-id`; used for service accounts only, ignored for other callers. */
  readonly tenantHeader: string | undefined;
}

/** Finds the caller of credentials, the same for REST and gRPC (S1, S2). */
export interface Authenticator {
  /** False on a loopback node without an identity provider: each call then acts as the local operator. */
  readonly required: boolean;
  /**
   * Throws `unauthenticated` for a missing or invalid token or API key, `unavailable` when it cannot be checked,
   * `invalid_argument` for an invalid `tenantHeader` of a service account.
   */
  authenticate(credentials: Credentials): Promise<Caller>;
}

/**
 * Resolves references to secrets (S3): `env:NAME`, `secret:PATH`, `literal:VALUE`. A value without a prefix is returned
 * unchanged.
 */
export interface Secrets {
  /** Throws `failed_precondition` naming the reference, never the value. */
  resolve(tenant: string, reference: string): Promise<string>;
}

/** A secret as shown, without its value. Times are ISO 8601. */
export interface SecretView {
  readonly path: string;
  /** The reference for settings and manifests: `secret:PATH`. */
  readonly reference: string;
  readonly version: number;
  /** Earlier versions that are kept, newest first; each can be referenced as `secret:PATH@VERSION`. */
  readonly earlier: { readonly version: number; readonly reference: string }[];
  /** Null for a file that was created by hand. */
  readonly created_at: string | null;
  readonly updated_at: string;
  readonly updated_by: string | null;
}

/** Stores the secrets that `Secrets` resolves. Values can be written but not read. Each path belongs to one tenant. */
export interface SecretStore {
  /**
   * Stores a value and keeps the current one as an earlier version. Throws `conflict` when `expect` is `absent` and the secret
   * exists, `not_found` when it is `present` and the secret does not exist, `invalid_argument`, `limit_reached`.
   */
  put(identity: Identity, path: string, value: string, expect: 'absent' | 'present' | 'any'): Promise<SecretView>;
  /** Throws `not_found`. */
  get(identity: Identity, path: string): Promise<SecretView>;
  /** Sorted by path. Throws `invalid_argument` for a page token of another list. */
  list(identity: Identity, prefix: string, page: PageAsked): Promise<Page<SecretView>>;
  /** Deletes the secret with all its versions, or one earlier version. Throws `not_found`. */
  remove(identity: Identity, path: string, version?: number): Promise<void>;
}

/** The versions of the key that encrypts the secrets of all tenants. */
export interface SecretKeysView {
  /** The version that encrypts new secrets. */
  readonly current: number;
  /** Newest first. A version without secrets and payload keys is no longer needed. */
  readonly versions: {
    readonly version: number;
    readonly made_at: string;
    readonly secrets: number;
    /** Data keys of encrypted payloads. */
    readonly payload_keys: number;
  }[];
}

/** Implemented by `SecretKeyRotation`. */
export interface SecretKeys {
  view(): Promise<SecretKeysView>;
  /**
   * Makes a newer key version the current one; the secrets are encrypted with it in the background. Throws
   * `failed_precondition` when the key source has none and may not make one, `unavailable`.
   */
  rotate(by: Pick<Identity, 'subject'>): Promise<SecretKeysView>;
}

/** A receiver's own description in the trailers of its answers. Senders need it to make a proof for this receiver. */
interface Introduction {
  readonly nodeId: string;
  readonly life: string;
  /** Unix ms, by the receiver's clock. */
  readonly at: number;
}

/**
 * Proofs of calls between nodes (metadata `svc-proof`). The sender's key signs what the envelope does not cover. Implemented by
 * `createProofGuard`.
 */
export interface NodeProofs {
  introduction(): Introduction;
  /**
   * Throws `unauthenticated` with a reason when the proof does not match this call, receiver or time, when it was used before,
   * or when it is missing but required; `unavailable`, `rate_limited`. Once a node has sent a valid proof, all its calls need
   * one.
   */
  check(node: NodeIdentity, call: ProvenCall, proof: string | undefined): Promise<void>;
}

/** A certificate in PEM, with its chain, leaf first. */
export interface Pem {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Authority that signs client certificates; null: clients need none. */
  readonly ca: Buffer | null;
}

/** A certificate that may be replaced while it is in use. Implemented by `CertificateFiles`. */
export interface Certificate {
  /** The certificate in use now. */
  readonly current: Pem;
  /** Calls the listener with each new certificate from now on. The returned function stops the calls. */
  onChange(listener: (pem: Pem) => void): () => void;
}

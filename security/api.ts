import type { KeyObject } from 'node:crypto';
import type { JWK } from 'jose';
import type { Identity } from '../runtime/identity.ts';
import type { Caller } from './api-keys/api.ts';

export type { ApiKeys, ApiKeyView, Caller, KeyGrant, KeyVerifier, NewApiKey } from './api-keys/api.ts';
export { requireScope } from './api-keys/require-scope.ts';
export { SCOPES, type ScopeArea } from './api-keys/scopes.ts';
export { openNodeEnvelope, sealNodeEnvelope } from './node-envelope.ts';
export { parsePublicKeyPem } from './node-key.ts';
export type { SecurityContexts } from './policy/api.ts';
export { isListed, type NamedTool } from './policy/matching.ts';
export { domainProblem } from './policy/policy.ts';
export { type Action, requireRole } from './policy.ts';
export { parseAgentPublicKey, publicKeyText } from './seal/agent-key.ts';
export type {
  AgentClaims,
  AgentTokens,
  AuditSigner,
  ExecutionTokens,
  OpenedEnvelope,
  Refusal,
  SealEnvelope,
  SealEnvelopes,
  VerifiedCall,
} from './seal/api.ts';
export { decodeBase64 } from './seal/base64.ts';
export { payloadBytes } from './seal/payload.ts';
export { delegatedTenant } from './tenant.ts';
export { bearerToken } from './token.ts';
export { signatureDigest, verifyWebhookBody, type WebhookSecret } from './webhook-signature.ts';

/** What a tier bounds (original-facts 13.1): `tool:NAME` is one call of that tool. */
export type Limited = 'agent_executions' | 'workflow_executions' | 'model_calls' | 'model_tokens' | `tool:${string}`;

/** Whose limits count. */
export type Principal = Pick<Identity, 'kind' | 'subject' | 'tier'> & { readonly tenant: string };

/**
 * Limits of a caller's tier, by setting, over all nodes (decided.md "Limits"). Operators, service accounts, actors and the
 * local operator have none unless set.
 */
export interface TierLimits {
  /** Throws `rate_limited` with `retryAfterMs`, naming what is limited. */
  take(principal: Principal, what: Limited, units?: number): Promise<void>;
}

/** Who a call is from, as the transport received it. */
export interface Credentials {
  /** Value of the `authorization` header or metadata. */
  readonly authorization: string | undefined;
  /** Value of `X-Tenant-Id` / `x-tenant-id`: honoured for service accounts, ignored for everyone else. */
  readonly tenantHeader: string | undefined;
}

/** Turns credentials into who calls, the same for REST and gRPC (design S1, S2). */
export interface Authenticator {
  /** False on a loopback node without an identity provider: every call is the local operator's. */
  readonly required: boolean;
  /**
   * Throws `unauthenticated` for a missing or bad token or API key, `unavailable` when it cannot be checked,
   * `invalid_argument` for a bad `tenantHeader` of a service account.
   */
  authenticate(credentials: Credentials): Promise<Caller>;
}

/** Secrets by reference (design S3): `env:NAME`, `secret:PATH`, `literal:VALUE`; a plain value is itself. */
export interface Secrets {
  /** Throws `failed_precondition` naming the reference, never the value. */
  resolve(tenant: string, reference: string): Promise<string>;
}

/** Private keys behind a port (design S3): files, or a key-management service. One RS256 key signs, several verify. */
export interface SigningKeys {
  open(): Promise<void>;
  /** RSASSA-PKCS1-v1_5 with SHA-256 by the key in force. */
  sign(data: Uint8Array): Promise<{ readonly kid: string; readonly signature: Uint8Array }>;
  /** Public keys of this port that still count, as JWKs with `kid`, `alg`, `use`: the newest first. */
  publicKeys(): Promise<readonly JWK[]>;
  /** Makes a new key the one that signs; the older ones go on verifying. */
  rotate(): Promise<void>;
  close(): Promise<void>;
}

/** Who a node token is for (decided.md "Identity"). */
export interface NodeIdentity {
  readonly nodeId: string;
  readonly role: 'CONTROLLER' | 'WORKER' | 'HYBRID';
  /** `cnf.jwk`: the node's Ed25519 key. */
  readonly publicKey: KeyObject;
  /** Unix ms. */
  readonly expiresAt: number;
}

/** NodeSecurityToken (spec 1): RS256 JWT of one hour, claims sub, role, iat, exp, `cnf.jwk`. */
export interface NodeTokens {
  issue(node: {
    readonly nodeId: string;
    readonly role: NodeIdentity['role'];
    readonly publicKeyPem: string;
  }): Promise<{ readonly token: string; readonly expiresAt: number }>;
  /** Throws `unauthenticated` for a bad or expired token, `unavailable` when the keys cannot be had. */
  verify(token: string): Promise<NodeIdentity>;
  /** JWKS of all controllers (`/.well-known/jwks.json`). */
  keySet(): Promise<{ readonly keys: readonly JWK[] }>;
}

/** SealNodeEnvelope (spec 1) as received. */
export interface NodeEnvelope {
  readonly node_security_token: string;
  readonly signature: Uint8Array;
  readonly payload: Uint8Array;
}

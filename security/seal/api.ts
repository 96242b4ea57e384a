import type { KeyObject } from 'node:crypto';

/** Claims of an agent's security token (H18). */
export interface AgentClaims {
  readonly agentId: string;
  readonly executionId: string;
  readonly tenant: string;
  /** Session the token was issued for; `jti`. */
  readonly sessionId: string;
  /** `wid`: container id, or the execution's id. */
  readonly workloadId: string;
  readonly securityContext: string;
  /** `cnf.jwk`: the agent's Ed25519 key, so that an envelope is verified without a look-up. */
  readonly publicKey: KeyObject;
  /** Unix ms. */
  readonly expiresAt: number;
}

/** RS256 JWT, keys through the port `SigningKeys`, verified by the published keys of all nodes. */
export interface AgentTokens {
  issue(claims: Omit<AgentClaims, 'publicKey'> & { readonly publicKey: KeyObject }): Promise<string>;
  /** Throws `unauthenticated` for a bad or expired token, `unavailable` when the keys cannot be had. */
  verify(token: string): Promise<AgentClaims>;
}

/** Envelope as received, on either transport (G13, H13). */
export interface SealEnvelope {
  readonly protocol: string;
  readonly security_token: string;
  /** Base64. */
  readonly signature: string;
  /** The bytes that were signed: gRPC as they are; REST base64-decoded, or the RFC 8785 form of a JSON object. */
  readonly payload: Uint8Array;
  readonly timestamp: string;
}

/** A call whose sender is certain. */
export interface VerifiedCall {
  readonly claims: AgentClaims;
  readonly envelopeHash: string;
  /** JSON-RPC request of `tools/call` or `call_tool`, checked as a JSON-RPC request only. */
  readonly rpc: {
    readonly id: string | number;
    /** Null: the payload names none. */
    readonly tool: string | null;
    readonly arguments: unknown;
  };
  /** SHA-256 of the payload bytes: another payload under the same id is refused. */
  readonly payloadHash: string;
}

/** Why an envelope was refused; `code` picks the row of the table (H16). */
export const REFUSALS = [
  'envelope_malformed',
  'protocol_unknown',
  'payload_malformed',
  'token_invalid',
  'token_expired',
  'signature_invalid',
  'timestamp_stale',
] as const;
export type Refusal = (typeof REFUSALS)[number];

/**
 * Outcome of opening an envelope. A refused one names the session that its token claims, verified or not, so that the
 * attempt can be recorded there; nothing else of it may be believed.
 */
export type OpenedEnvelope = { readonly ok: true; readonly call: VerifiedCall } | RefusedEnvelope;

export interface RefusedEnvelope {
  readonly ok: false;
  readonly refusal: Refusal;
  readonly message: string;
  readonly envelopeHash: string;
  readonly rpcId: string | number | null;
  readonly claimed: { readonly tenant: string; readonly sessionId: string } | null;
}

export interface SealEnvelopes {
  /** Checks the envelope, then the signature (H14). Throws only `unavailable`. */
  open(envelope: SealEnvelope): Promise<OpenedEnvelope>;
  /**
   * Checks the token alone, before anybody reads the payload, which counts as empty in the hash of what is refused. Null
   * when the token is valid. Throws only `unavailable`.
   */
  checkToken(envelope: Omit<SealEnvelope, 'payload'>): Promise<RefusedEnvelope | null>;
}

/**
 * Token that the orchestrator gives an execution's program or container (S5): opens the dispatch gateway and
 * inner-loop RPC for that execution alone. RS256 JWT, audience `svc-dispatch`.
 */
export interface ExecutionTokens {
  issue(execution: {
    readonly tenant: string;
    readonly executionId: string;
    readonly expiresAt: number;
  }): Promise<string>;
  /** Throws `unauthenticated`, `unavailable`. */
  verify(token: string): Promise<{ readonly tenant: string; readonly executionId: string }>;
}

/** Signs the head of an audit chain: compact JWS, RS256 (manifests/audit). */
export interface AuditSigner {
  sign(head: {
    readonly session_id: string;
    readonly tenant: string;
    readonly sequence: number;
    readonly hash: string;
  }): Promise<string>;
}

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
  /** `cnf.jwk`: the agent's Ed25519 key, so that verifying an envelope needs no look-up. */
  readonly publicKey: KeyObject;
  /** Unix ms. */
  readonly expiresAt: number;
}

/** RS256 JWTs, signed through the port `SigningKeys` and verified with the published keys of all nodes. */
export interface AgentTokens {
  issue(claims: Omit<AgentClaims, 'publicKey'> & { readonly publicKey: KeyObject }): Promise<string>;
  /** Throws `unauthenticated` for an invalid or expired token, `unavailable` when the keys cannot be read. */
  verify(token: string): Promise<AgentClaims>;
}

/** An envelope as received over either transport (G13, H13). */
export interface SealEnvelope {
  readonly protocol: string;
  readonly security_token: string;
  /** Base64. */
  readonly signature: string;
  /** The signed bytes. gRPC: unchanged; REST: decoded from base64, or the RFC 8785 form of a JSON object. */
  readonly payload: Uint8Array;
  readonly timestamp: string;
}

/** A call whose sender is verified. */
export interface VerifiedCall {
  readonly claims: AgentClaims;
  readonly envelopeHash: string;
  /** JSON-RPC request of `tools/call` or `call_tool`, validated as JSON-RPC only. */
  readonly rpc: {
    readonly id: string | number;
    /** Null when the payload names no tool. */
    readonly tool: string | null;
    readonly arguments: unknown;
  };
  /** SHA-256 of the payload bytes. A repeated id with another payload is refused. */
  readonly payloadHash: string;
}

/** Why an envelope was refused; `code` selects the row of the table (H16). */
const REFUSALS = [
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
 * Result of opening an envelope. A refused one contains the session that its token claims, verified or not, so that the attempt
 * can be recorded there. No other claim of it may be trusted.
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
  /** Checks the form of the envelope, then the signature (H14). Throws only `unavailable`. */
  open(envelope: SealEnvelope): Promise<OpenedEnvelope>;
  /**
   * Checks the token alone, before the payload is read; the hash of a refused envelope then covers an empty payload. Returns
   * null for a valid token. Throws only `unavailable`.
   */
  checkToken(envelope: Omit<SealEnvelope, 'payload'>): Promise<RefusedEnvelope | null>;
}

/**
 * Token that the orchestrator gives to an execution's program or container (S5). It opens the dispatch gateway and the
 * inner-loop RPC for this execution only. RS256 JWT, audience `svc-dispatch`.
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

/** Signs the head of an audit chain as a compact JWS, RS256 (manifests/audit). */
export interface AuditSigner {
  sign(head: {
    readonly session_id: string;
    readonly tenant: string;
    readonly sequence: number;
    readonly hash: string;
  }): Promise<string>;
}

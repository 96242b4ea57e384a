import { ERRORS, type ErrorCode, SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { AgentTokens, AuditSigner, Refusal, SealEnvelopes } from '../../security/api.ts';
import type { AttestApi } from '../executions.ts';
import type { ToolGranter } from '../ports/tool-granter.ts';
import type { Admission } from '../starts/admission.ts';
import type { ToolSessionApi } from '../tool-sessions.ts';

/** The parts that SEAL needs, on every transport. */
export interface SealParts {
  readonly attestation: AttestApi;
  readonly granter: Pick<ToolGranter, 'grant'>;
  readonly sessions: ToolSessionApi;
  readonly tokens: AgentTokens;
  readonly envelopes: SealEnvelopes;
  readonly signer: AuditSigner;
  /**
   * Limits the calls that start a run. Absent for the internal address, where the agents of this node call: their calls
   * are never refused as `overloaded`.
   */
  readonly admission?: Pick<Admission, 'enter'>;
}

/** The caller on whose behalf a call came in. */
export interface SealCaller {
  readonly tenant: string;
  /** The identity of its bearer token. Absent with a capability token, which names the execution instead. */
  readonly identity?: Identity;
  /** Whether a bearer or capability token proves the tenant. Such a caller cannot reach sessions of another tenant. */
  readonly verified: boolean;
  /** The only execution that a capability token may act for. */
  readonly executionId?: string;
}

export interface SealCall {
  /**
   * Null: the request names no caller. Then only a signed envelope can name its session, and attestation is impossible.
   */
  readonly caller: SealCaller | null;
  /** W3C trace id. */
  readonly trace: string;
  readonly signal?: AbortSignal;
}

/**
 * The error of the error table for each reason to refuse an envelope (H14, H16). It gives the HTTP and gRPC statuses;
 * the JSON-RPC code is in the table below. Both transports answer only by these two tables.
 */
export const REFUSED: Readonly<Record<Refusal, ErrorCode>> = {
  envelope_malformed: 'invalid_argument',
  protocol_unknown: 'invalid_argument',
  payload_malformed: 'invalid_argument',
  token_invalid: 'unauthenticated',
  token_expired: 'unauthenticated',
  signature_invalid: 'unauthenticated',
  timestamp_stale: 'unauthenticated',
};

/** JSON-RPC codes. An error that is not listed gets -32603, an internal error. */
const RPC_CODES: ReadonlyMap<ErrorCode, number> = new Map<ErrorCode, number>([
  ['invalid_argument', -32600],
  ['payload_too_large', -32600],
  ['invalid_arguments', -32602],
  ['unauthenticated', -32000],
  ['tool_denied', -32000],
  ['rate_limited', -32000],
  ['mailbox_full', -32000],
]);

const INTERNAL_RPC_CODE = -32603;

/** Denials with another error than 403: wrong arguments, and a rate limit that passes by itself. */
const DENIED: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ['InvalidArguments', 'invalid_arguments'],
  ['RateLimitExceeded', 'rate_limited'],
]);

/** Reason of the 403 for a session that is closed, revoked, unknown, or of another tenant. */
export const SESSION_INACTIVE = 'SessionInactive';

/** The error of a call that policy denied, with its precise reason. */
export function deniedCall(denial: {
  readonly reason: string;
  readonly message: string;
  readonly retryAfterMs?: number;
}): SvcError {
  const { reason, message, retryAfterMs } = denial;
  const code = DENIED.get(reason) ?? 'tool_denied';
  const after = code === 'rate_limited' ? { retryAfterMs: retryAfterMs ?? 1_000 } : {};
  return new SvcError(code, message, { reason, ...after });
}

/**
 * The error of a call whose tool could not run. An error that is not this node's fault becomes `tool_failed`, since the
 * caller's own errors are answered by other codes.
 */
export function brokenCall(thrown: SvcError): SvcError {
  const { code, message } = thrown;
  if (code === 'cancelled') return deniedCall({ reason: SESSION_INACTIVE, message });
  const { kind, http } = thrown.row;
  const isOurs = kind === 'bug' || kind === 'retry' || http >= 500 || code === 'payload_too_large';
  return isOurs ? thrown : new SvcError('tool_failed', message, { cause: thrown });
}

interface RpcError {
  readonly jsonrpc: '2.0';
  readonly id: string | number | null;
  readonly error: {
    readonly code: number;
    readonly message: string;
    readonly data?: { readonly reason: string };
  };
}

/** The body of a failed call over REST. */
export function rpcError(id: string | number | null, error: SvcError): RpcError {
  const message = error.row.kind === 'bug' ? ERRORS[error.code].message : error.message;
  const data = error.reason === undefined ? {} : { data: { reason: error.reason } };
  return { jsonrpc: '2.0', id, error: { code: RPC_CODES.get(error.code) ?? INTERNAL_RPC_CODE, message, ...data } };
}

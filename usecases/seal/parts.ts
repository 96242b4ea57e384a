import { ERRORS, type ErrorCode, SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { AgentTokens, AuditSigner, Refusal, SealEnvelopes } from '../../security/api.ts';
import type { AttestApi } from '../executions.ts';
import type { ToolGranter } from '../ports/tool-granter.ts';
import type { Admission } from '../starts/admission.ts';
import type { ToolSessionApi } from '../tool-sessions.ts';

/** What SEAL is made of, whichever way it is asked for. */
export interface SealParts {
  readonly attestation: AttestApi;
  readonly granter: Pick<ToolGranter, 'grant'>;
  readonly sessions: ToolSessionApi;
  readonly tokens: AgentTokens;
  readonly envelopes: SealEnvelopes;
  readonly signer: AuditSigner;
  /** Without it no call that starts a run is refused for its amount: what runs here calls by the internal address. */
  readonly admission?: Pick<Admission, 'enter'>;
}

/** On whose behalf the call came in. */
export interface SealCaller {
  readonly tenant: string;
  /** By whose bearer token; without one a capability token says which execution it is. */
  readonly identity?: Identity;
  /** A bearer or capability token says so, and sessions of another tenant are not reached. */
  readonly verified: boolean;
  /** A capability token opens this execution alone. */
  readonly executionId?: string;
}

export interface SealCall {
  /** Null: nobody said; then a signed envelope alone says whose session it is, and nothing can be attested. */
  readonly caller: SealCaller | null;
  /** W3C trace id. */
  readonly trace: string;
  readonly signal?: AbortSignal;
}

/**
 * Which row of the error table a refused envelope is (H14, H16). HTTP and gRPC statuses
 * are that row's, the JSON-RPC code is the one below: both transports answer by these two tables and nothing else.
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

/** JSON-RPC codes; what is not here is -32603, an internal error. */
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

/** Denials that are not 403: the caller's arguments, and what passes by itself. */
const DENIED: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ['InvalidArguments', 'invalid_arguments'],
  ['RateLimitExceeded', 'rate_limited'],
]);

/** 403 of a session that is closed, revoked, unknown, or of another tenant. */
export const SESSION_INACTIVE = 'SessionInactive';

/** A call that policy did not allow, with its precise reason. */
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

/** What kept a tool from running: the caller's own errors have other rows, so nothing of it is one. */
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

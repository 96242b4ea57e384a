import { ERRORS, type ErrorCode, SvcError } from '../../runtime/errors.ts';
import type { Refusal } from '../../security/api.ts';

/**
 * Which row of the error table a refused envelope is (spec 2, SEAL; decided.md "SEAL envelope"). HTTP and gRPC statuses
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

export interface RpcError {
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

/**
 * The one table of error codes (L5). Every error that leaves the process is a row here. REST and gRPC statuses,
 * docs/reference/errors.md and the tests are derived from it. A retired code is never used again.
 * Texts say what is wrong and what to do. `kind` says what happens next: `terminal`: the caller must change something;
 * `retry`: the same call may succeed later; `cancelled`: a caller cancelled the work; `bug`: a fault of this program.
 */
type ErrorKind = 'terminal' | 'retry' | 'cancelled' | 'bug';

type GrpcStatusName =
  | 'CANCELLED'
  | 'INVALID_ARGUMENT'
  | 'DEADLINE_EXCEEDED'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'PERMISSION_DENIED'
  | 'RESOURCE_EXHAUSTED'
  | 'FAILED_PRECONDITION'
  | 'ABORTED'
  | 'UNIMPLEMENTED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'UNAUTHENTICATED';

interface ErrorRow {
  readonly kind: ErrorKind;
  readonly http: number;
  readonly grpc: GrpcStatusName;
  /** Used when the throw site gives no better text, and always for kind `bug`. */
  readonly message: string;
}

const row = (kind: ErrorKind, http: number, grpc: GrpcStatusName, message: string): ErrorRow => ({
  kind,
  http,
  grpc,
  message,
});

export const ERRORS = {
  invalid_argument: row(
    'terminal',
    400,
    'INVALID_ARGUMENT',
    'The request is malformed. Check its fields against the API description.',
  ),
  invalid_manifest: row(
    'terminal',
    422,
    'INVALID_ARGUMENT',
    'The manifest is invalid. The details name each path and what is expected there.',
  ),
  invalid_config: row(
    'terminal',
    500,
    'FAILED_PRECONDITION',
    'The node configuration is invalid. Correct the keys that the details name.',
  ),
  validation_failed: row(
    'terminal',
    422,
    'INVALID_ARGUMENT',
    'The input does not match its schema. The details name each field and what is expected there.',
  ),
  unauthenticated: row('terminal', 401, 'UNAUTHENTICATED', 'A valid bearer token is needed: send it in authorization.'),
  forbidden: row(
    'terminal',
    403,
    'PERMISSION_DENIED',
    'The caller lacks the permission for this action. Use an identity that has it.',
  ),
  not_found: row('terminal', 404, 'NOT_FOUND', 'Nothing with this name or id exists in this tenant. Check both.'),
  method_not_allowed: row(
    'terminal',
    405,
    'UNIMPLEMENTED',
    'This path does not support the method. Use one that the Allow header lists.',
  ),
  not_acceptable: row(
    'terminal',
    406,
    'INVALID_ARGUMENT',
    'This route produces none of the accepted content types. Send Accept: */*.',
  ),
  conflict: row(
    'terminal',
    409,
    'ALREADY_EXISTS',
    'It already exists or was already answered. Read its state before you repeat the call.',
  ),
  failed_precondition: row(
    'terminal',
    409,
    'FAILED_PRECONDITION',
    'The current state does not allow this action. Read the state first.',
  ),
  read_only: row('terminal', 409, 'FAILED_PRECONDITION', 'This node shows a recorded run. Call a node that runs work.'),
  payload_too_large: row(
    'terminal',
    413,
    'INVALID_ARGUMENT',
    'A payload is larger than 16 MiB. Send less, or a reference to the data.',
  ),
  unsupported_media_type: row(
    'terminal',
    415,
    'INVALID_ARGUMENT',
    'This route does not support the content type. Send one that the API description lists.',
  ),
  expectation_failed: row('terminal', 417, 'INVALID_ARGUMENT', 'This Expect header is unknown. Send none.'),
  headers_too_large: row(
    'terminal',
    431,
    'INVALID_ARGUMENT',
    'The headers are larger than this node accepts. Send fewer or smaller ones.',
  ),
  request_timed_out: row(
    'retry',
    408,
    'DEADLINE_EXCEEDED',
    'The request did not arrive completely in time. Nothing was done; send it again.',
  ),
  mailbox_full: row(
    'retry',
    429,
    'RESOURCE_EXHAUSTED',
    'The mailbox of this actor is full. Repeat the call after Retry-After.',
  ),
  rate_limited: row('retry', 429, 'RESOURCE_EXHAUSTED', 'A rate limit is exceeded. Repeat the call after Retry-After.'),
  max_iterations_exceeded: row(
    'terminal',
    409,
    'RESOURCE_EXHAUSTED',
    'All iterations were used and none was accepted. The events of the execution say why.',
  ),
  timed_out: row(
    'terminal',
    504,
    'DEADLINE_EXCEEDED',
    'The run took longer than its manifest allows. Raise its timeout, or give it less to do.',
  ),
  limit_reached: row(
    'terminal',
    409,
    'RESOURCE_EXHAUSTED',
    'The quota is reached. Delete what you no longer need, or ask an operator for a higher quota.',
  ),
  no_capable_worker: row(
    'retry',
    503,
    'RESOURCE_EXHAUSTED',
    'No healthy worker has the required tags or capabilities. Start one that has, or require less.',
  ),
  tool_failed: row('terminal', 500, 'INTERNAL', 'The tool could not be run. The log of the node has the cause.'),
  tool_denied: row(
    'terminal',
    403,
    'PERMISSION_DENIED',
    'The policy does not allow this tool call. The reason names the rule.',
  ),
  invalid_arguments: row(
    'terminal',
    422,
    'INVALID_ARGUMENT',
    'The arguments do not match the input schema of the tool. Correct them and call again.',
  ),
  cortex_not_configured: row('terminal', 409, 'FAILED_PRECONDITION', 'Cortex not configured'),
  cancelled: row('cancelled', 409, 'CANCELLED', 'The work was cancelled.'),
  deadline_exceeded: row(
    'retry',
    504,
    'DEADLINE_EXCEEDED',
    'No answer arrived in time; the work may have been done. Read the state before you repeat it.',
  ),
  overloaded: row(
    'retry',
    503,
    'UNAVAILABLE',
    'The node is overloaded; nothing was done. Repeat the call after Retry-After.',
  ),
  unavailable: row(
    'retry',
    503,
    'UNAVAILABLE',
    'A service that this call needs is unavailable. Repeat it with the same id after Retry-After.',
  ),
  unimplemented: row(
    'terminal',
    501,
    'UNIMPLEMENTED',
    'This version does not implement the call. Use one that the API description lists.',
  ),
  lease_lost: row('retry', 503, 'ABORTED', 'The node no longer owns the partition of this actor. Repeat the call.'),
  unsupported_isolation: row(
    'terminal',
    422,
    'FAILED_PRECONDITION',
    'This node does not support the requested isolation. Choose another one or another node.',
  ),
  unsupported_runtime: row(
    'terminal',
    422,
    'FAILED_PRECONDITION',
    'This node does not have the requested language and version. Choose one that it lists.',
  ),
  model_failed: row(
    'terminal',
    502,
    'UNAVAILABLE',
    'The model provider sent an invalid response. The message says what is wrong with it.',
  ),
  model_refused: row(
    'terminal',
    502,
    'FAILED_PRECONDITION',
    'The model provider refused the call. Check its key, its model name and the request.',
  ),
  model_unavailable: row(
    'retry',
    503,
    'UNAVAILABLE',
    'No model provider answered in time. Repeat the call, or configure a fallback.',
  ),
  program_failed: row(
    'terminal',
    500,
    'INTERNAL',
    'The program could not be started. Check its path, its mode and its interpreter.',
  ),
  in_doubt: row(
    'terminal',
    500,
    'ABORTED',
    'The effect had started when its node died, and was not repeated. Check what it did.',
  ),
  image_unavailable: row(
    'terminal',
    422,
    'FAILED_PRECONDITION',
    'The container image could not be pulled. Check its name, credentials and pull policy.',
  ),
  registry_unreachable: row(
    'retry',
    503,
    'UNAVAILABLE',
    'The registry of the container image could not be reached. Repeat the call, or check the network of the node.',
  ),
  container_failed: row(
    'terminal',
    500,
    'INTERNAL',
    'The container could not be started. Check its command and its limits.',
  ),
  quota_exceeded: row(
    'terminal',
    507,
    'RESOURCE_EXHAUSTED',
    'The volume is full (ENOSPC). Delete files, or use a larger volume.',
  ),
  idempotent_duplicate: row('terminal', 409, 'ALREADY_EXISTS', 'The same delivery was processed within 24 hours.'),
  classification_failed: row(
    'terminal',
    422,
    'INVALID_ARGUMENT',
    'The router agent was not confident enough. Add a direct route for this source.',
  ),
  no_router_configured: row(
    'terminal',
    422,
    'INVALID_ARGUMENT',
    'This source has no direct route, and there is no router agent. Configure one of them.',
  ),
  workflow_error: row(
    'terminal',
    500,
    'INTERNAL',
    'The workflow execution failed to start. Check that its workflow is deployed.',
  ),
  missing_signature: row(
    'terminal',
    401,
    'UNAUTHENTICATED',
    'The signature header is missing. Sign the webhook as its source is configured.',
  ),
  invalid_signature: row(
    'terminal',
    401,
    'UNAUTHENTICATED',
    'The signature does not match the body. Check the secret and the bytes that were signed.',
  ),
  secret_not_found: row(
    'terminal',
    401,
    'UNAUTHENTICATED',
    'No secret is configured for this source. Set one on the node.',
  ),
  malformed_signature: row(
    'terminal',
    400,
    'INVALID_ARGUMENT',
    'The signature header does not have the format of its scheme. Correct the sender.',
  ),
  dead_lettered: row(
    'bug',
    500,
    'INTERNAL',
    'The message failed repeatedly and was moved to the dead letters. Please report it.',
  ),
  internal: row('bug', 500, 'INTERNAL', 'An internal error occurred. The log of the node has the cause.'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);

/** One entry of `details[]`: the field, its place in the document, and what was expected. */
export interface ErrorDetail {
  readonly path?: string;
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
}

interface ErrorContext {
  /** Name of the invalid field. */
  readonly field?: string;
  readonly details?: readonly ErrorDetail[];
  /** For `retry` kinds: how long to wait before the next try, milliseconds. */
  readonly retryAfterMs?: number;
  /** Tells apart the reasons that share a code: `PathOutsideBoundary` of `tool_denied`. */
  readonly reason?: string;
  /** The node's own store that did not answer (`unreachableStore`). Only store adapters set it. */
  readonly store?: OwnStore;
  /** The call failed before it acted, so nothing was done (`beforeActing`). */
  readonly notBegun?: boolean;
  readonly cause?: unknown;
}

/** The stores of a node, in contrast to the services that effects call. */
export type OwnStore = 'actors' | 'documents' | 'blobs' | 'queue' | 'limits' | 'secrets';

/** The one error class that crosses module borders. `message` is public: never put a secret into it. */
export class SvcError extends Error {
  override readonly name = 'SvcError';
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly retryAfterMs: number | undefined;
  readonly reason: string | undefined;
  readonly store: OwnStore | undefined;
  readonly notBegun: boolean;

  constructor(code: ErrorCode, message?: string, context: ErrorContext = {}) {
    super(message ?? ERRORS[code].message, context.cause === undefined ? undefined : { cause: context.cause });
    this.code = code;
    this.field = context.field;
    this.details = context.details;
    this.retryAfterMs = context.retryAfterMs;
    this.reason = context.reason;
    this.store = context.store;
    this.notBegun = context.notBegun === true;
  }

  get row(): ErrorRow {
    return ERRORS[this.code];
  }
}

/** The error of a field that its caller must change. `text` says what was expected there. */
export const invalidField = (field: string, text: string): SvcError =>
  new SvcError('invalid_argument', `${field}: ${text}`, { field });

/** Converts any thrown value to an SvcError. A foreign error becomes `internal` and is kept as `cause`. */
export function toSvcError(thrown: unknown): SvcError {
  if (thrown instanceof SvcError) return thrown;
  return new SvcError('internal', ERRORS.internal.message, { cause: thrown });
}

/**
 * The store of this node whose absence caused a failure, or null. An error that wraps another one keeps this store as
 * long as its kind is `retry`.
 */
export function unreachableStore(thrown: unknown): OwnStore | null {
  for (let error = thrown; error instanceof SvcError && error.row.kind === 'retry'; error = error.cause)
    if (error.store !== undefined) return error.store;
  return null;
}

/** Wraps a lookup before a call acts. When a store is unavailable, the error says that nothing was done. */
export async function beforeActing<T>(looking: Promise<T>): Promise<T> {
  try {
    return await looking;
  } catch (thrown) {
    const store = unreachableStore(thrown);
    if (store === null) throw thrown;
    const { code, message, retryAfterMs } = toSvcError(thrown);
    const after = retryAfterMs === undefined ? {} : { retryAfterMs };
    throw new SvcError(code, message, { ...after, store, notBegun: true, cause: thrown });
  }
}

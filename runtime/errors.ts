/**
 * The one table of error codes (L5). Everything that leaves the process as an error is a row here: REST and
 * gRPC statuses, docs/reference/errors.md and the tests are derived from it. A retired code is never used again.
 *
 * kind says what happens next: `terminal` the caller must change something, `retry` the same call may succeed later,
 * `cancelled` somebody asked for it, `bug` ours.
 */
export type ErrorKind = 'terminal' | 'retry' | 'cancelled' | 'bug';

export type GrpcStatusName =
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

export interface ErrorRow {
  readonly kind: ErrorKind;
  readonly http: number;
  readonly grpc: GrpcStatusName;
  /** Shown when no better text exists, and always for kind `bug`. */
  readonly message: string;
}

const row = (kind: ErrorKind, http: number, grpc: GrpcStatusName, message: string): ErrorRow => ({
  kind,
  http,
  grpc,
  message,
});

export const ERRORS = {
  invalid_argument: row('terminal', 400, 'INVALID_ARGUMENT', 'The request is malformed.'),
  invalid_manifest: row('terminal', 422, 'INVALID_ARGUMENT', 'The manifest breaks a rule; details name the path.'),
  invalid_config: row('terminal', 500, 'FAILED_PRECONDITION', 'The node configuration breaks a rule.'),
  validation_failed: row('terminal', 422, 'INVALID_ARGUMENT', 'The input does not fit its schema.'),
  unauthenticated: row('terminal', 401, 'UNAUTHENTICATED', 'A valid bearer token is needed.'),
  forbidden: row('terminal', 403, 'PERMISSION_DENIED', 'The caller may not do this.'),
  not_found: row('terminal', 404, 'NOT_FOUND', 'No such thing in this tenant.'),
  method_not_allowed: row('terminal', 405, 'UNIMPLEMENTED', 'The path exists, the method does not.'),
  not_acceptable: row('terminal', 406, 'INVALID_ARGUMENT', 'None of the accepted content types can be produced.'),
  conflict: row('terminal', 409, 'ALREADY_EXISTS', 'It exists already or was answered already.'),
  failed_precondition: row('terminal', 409, 'FAILED_PRECONDITION', 'The thing is not in a state that allows this.'),
  payload_too_large: row('terminal', 413, 'INVALID_ARGUMENT', 'A payload is larger than 16 MiB.'),
  unsupported_media_type: row('terminal', 415, 'INVALID_ARGUMENT', 'The content type is not understood here.'),
  headers_too_large: row('terminal', 431, 'INVALID_ARGUMENT', 'The headers are larger than this node takes.'),
  request_timed_out: row('retry', 408, 'DEADLINE_EXCEEDED', 'The request did not arrive in time.'),
  mailbox_full: row('retry', 429, 'RESOURCE_EXHAUSTED', 'The actor has too many waiting messages.'),
  rate_limited: row('retry', 429, 'RESOURCE_EXHAUSTED', 'Too many calls; see Retry-After.'),
  iteration_limit: row('terminal', 409, 'RESOURCE_EXHAUSTED', 'The iteration limit was reached.'),
  limit_reached: row('terminal', 409, 'RESOURCE_EXHAUSTED', 'There are as many as one may have; remove one first.'),
  no_capable_worker: row('retry', 503, 'RESOURCE_EXHAUSTED', 'No worker has the tags or capabilities that are needed.'),
  tool_failed: row('terminal', 500, 'INTERNAL', 'The tool could not be run.'),
  tool_denied: row('terminal', 403, 'PERMISSION_DENIED', 'Policy does not allow this tool call.'),
  invalid_arguments: row('terminal', 422, 'INVALID_ARGUMENT', 'The arguments of the tool break a rule.'),
  cortex_not_configured: row('terminal', 409, 'FAILED_PRECONDITION', 'Cortex not configured'),
  cancelled: row('cancelled', 409, 'CANCELLED', 'The work was cancelled.'),
  deadline_exceeded: row(
    'retry',
    504,
    'DEADLINE_EXCEEDED',
    'No answer within the time given; the work may have been done.',
  ),
  overloaded: row('retry', 503, 'UNAVAILABLE', 'The node has more work than it can take now; see Retry-After.'),
  unavailable: row('retry', 503, 'UNAVAILABLE', 'A part the call needs is down.'),
  unimplemented: row('terminal', 501, 'UNIMPLEMENTED', 'This call is specified but not served by this version.'),
  lease_lost: row('retry', 503, 'ABORTED', 'The node no longer serves this actor.'),
  unsupported_isolation: row('terminal', 422, 'FAILED_PRECONDITION', 'This node cannot run the asked isolation.'),
  unsupported_runtime: row('terminal', 422, 'FAILED_PRECONDITION', 'This node has no such language and version.'),
  model_failed: row('terminal', 502, 'UNAVAILABLE', 'The model provider refused or answered nonsense.'),
  model_unavailable: row('retry', 503, 'UNAVAILABLE', 'No model provider answered.'),
  program_failed: row('terminal', 500, 'INTERNAL', 'The program could not be started.'),
  in_doubt: row('terminal', 500, 'ABORTED', 'The effect had started when its node died; it was not repeated.'),
  image_unavailable: row('terminal', 422, 'FAILED_PRECONDITION', 'The container image could not be had.'),
  container_failed: row('terminal', 500, 'INTERNAL', 'The container could not be started.'),
  quota_exceeded: row('terminal', 507, 'RESOURCE_EXHAUSTED', 'The volume is full (ENOSPC).'),
  idempotent_duplicate: row('terminal', 409, 'ALREADY_EXISTS', 'The same delivery was processed within 24 hours.'),
  classification_failed: row('terminal', 422, 'INVALID_ARGUMENT', 'The router agent was not sure enough.'),
  no_router_configured: row('terminal', 422, 'INVALID_ARGUMENT', 'There is no direct route and no router agent.'),
  workflow_error: row('terminal', 500, 'INTERNAL', 'The workflow execution failed to start.'),
  missing_signature: row('terminal', 401, 'UNAUTHENTICATED', 'The signature header is absent.'),
  invalid_signature: row('terminal', 401, 'UNAUTHENTICATED', 'The signature does not match the body.'),
  secret_not_found: row('terminal', 401, 'UNAUTHENTICATED', 'The secret of this source is not set.'),
  malformed_signature: row('terminal', 400, 'INVALID_ARGUMENT', 'The signature header has not the form of its scheme.'),
  dead_lettered: row('bug', 500, 'INTERNAL', 'The message could not be handled and was put aside.'),
  internal: row('bug', 500, 'INTERNAL', 'An internal error occurred.'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);

/** One entry of `details[]`: which field, where in the document, what was expected. */
export interface ErrorDetail {
  readonly path?: string;
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
}

export interface ErrorContext {
  /** Name of the offending field. */
  readonly field?: string;
  readonly details?: readonly ErrorDetail[];
  /** For `retry` kinds: when to come back, milliseconds. */
  readonly retryAfterMs?: number;
  /** The precise word where many share a code: `PathOutsideBoundary` of `tool_denied`. */
  readonly reason?: string;
  /** Which of the node's own stores did not answer (`storeAway`). Only adapters of stores set it. */
  readonly store?: OwnStore;
  /** Nothing was done: it failed while it looked up what it needs (`beforeActing`). */
  readonly notBegun?: boolean;
  readonly cause?: unknown;
}

/** What a node keeps its data in, as opposed to the services that effects call. */
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

/** Any thrown value as an SvcError; what is not ours becomes `internal` with the cause kept. */
export function toSvcError(thrown: unknown): SvcError {
  if (thrown instanceof SvcError) return thrown;
  return new SvcError('internal', ERRORS.internal.message, { cause: thrown });
}

/**
 * The store of this node whose absence is behind a failure; null when nothing of ours is. An error that wraps another
 * keeps this as long as it says that the same call may succeed later.
 */
export function storeAway(thrown: unknown): OwnStore | null {
  for (let error = thrown; error instanceof SvcError && error.row.kind === 'retry'; error = error.cause) {
    if (error.store !== undefined) return error.store;
  }
  return null;
}

/** What a call looks up before it acts. A store that is away then is said to have kept it from beginning. */
export async function beforeActing<T>(looking: Promise<T>): Promise<T> {
  try {
    return await looking;
  } catch (thrown) {
    const store = storeAway(thrown);
    if (store === null) throw thrown;
    const { code, message, retryAfterMs } = toSvcError(thrown);
    const after = retryAfterMs === undefined ? {} : { retryAfterMs };
    throw new SvcError(code, message, { ...after, store, notBegun: true, cause: thrown });
  }
}

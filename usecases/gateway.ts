import { z } from 'zod';
import type { CallOptions } from '../runtime/client.ts';
import { ERRORS, SvcError, toSvcError } from '../runtime/errors.ts';
import type { Json, JsonObject } from '../runtime/json.ts';

const MAX_ID_CHARS = 255;

const MAX_TEXT_CHARS = 16 * 1024 * 1024;

const MAX_MESSAGES = 1_000;

const MAX_INT32 = 2_147_483_647;

const text = z.string().max(MAX_TEXT_CHARS);

const id = z.string().min(1).max(MAX_ID_CHARS);

/** One entry of a conversation: role, content, tool_call_id, tool_calls. Unknown keys are kept. */
const ConversationMessage = z
  .object({ role: z.string().min(1).max(64) })
  .catchall(z.json())
  .describe('role, content, tool_call_id, tool_calls[] {id, name, arguments}.');

/** First message of a bootstrap (H9). */
const GenerateMessage = z.strictObject({
  type: z.literal('generate'),
  agent_id: id,
  execution_id: id,
  iteration_number: z.number().int().min(1).max(MAX_INT32),
  /** Empty: the alias of the manifest. */
  model_alias: z.string().max(MAX_ID_CHARS).default(''),
  prompt: text,
  messages: z.array(ConversationMessage).max(MAX_MESSAGES).default([]),
});

/** The outcome of a dispatched command. */
const DispatchResultMessage = z.strictObject({
  type: z.literal('dispatch_result'),
  execution_id: id,
  dispatch_id: id,
  /** -1: the command timed out or never ran. */
  exit_code: z.number().int().min(-MAX_INT32).max(MAX_INT32),
  stdout: text,
  stderr: text,
  duration_ms: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  truncated: z.boolean(),
});

/** A request of a bootstrap. Unknown keys are refused by name. */
export const GatewayRequest = z.discriminatedUnion('type', [GenerateMessage, DispatchResultMessage]);

export type GatewayRequest = z.output<typeof GatewayRequest>;

/** The loop has ended; the bootstrap prints `content`. */
interface FinalAnswer {
  readonly type: 'final';
  readonly content: string;
  readonly tool_calls_executed: number;
  readonly conversation: readonly JsonObject[];
}

/** A command for the bootstrap to run. */
export interface DispatchAnswer {
  readonly type: 'dispatch';
  readonly dispatch_id: string;
  /** `exec`. */
  readonly action: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env_additions: Readonly<Record<string, string>>;
  readonly timeout_secs: number;
  readonly max_output_bytes: number;
}

/** The answer to a request. */
export type GatewayAnswer = FinalAnswer | DispatchAnswer;

/**
 * Answers the bootstrap of one execution. `signal` ends the wait, not the loop: the same request gets the same answer when
 * it is sent again. Throws `forbidden` for a request about another execution, and what the loop throws.
 */
export type GatewayHandler = (request: GatewayRequest, signal: AbortSignal) => Promise<GatewayAnswer>;

/** Throws `invalid_argument` naming each field and what was expected. */
export function gatewayRequestOf(value: unknown): GatewayRequest {
  const read = GatewayRequest.safeParse(value);
  if (read.success) return read.data;
  const details = read.error.issues
    .slice(0, 20)
    .map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  const shown = details.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  throw new SvcError('invalid_argument', shown, { details });
}

/** An error as a bootstrap sees it. */
export interface GatewayProblem {
  readonly error: string;
  readonly message: string;
  /** Seconds to wait before the same request is sent again; 0: do not repeat it. */
  readonly retry_secs: number;
}

/** Transient errors of this node: the same request can succeed later. Errors of a model or a limit are not transient. */
const TRANSIENT: ReadonlySet<string> = new Set(['unavailable', 'lease_lost', 'deadline_exceeded', 'mailbox_full']);

/** For errors of kind `bug` only the fixed public text, since the real one could contain secrets. */
export function gatewayProblem(thrown: unknown): GatewayProblem {
  const error = toSvcError(thrown);
  const message = error.row.kind === 'bug' ? ERRORS[error.code].message : error.message;
  return { error: error.code, message, retry_secs: retrySecs(error.code, error.retryAfterMs) };
}

/** Seconds to wait before the request is sent again; 0: repeating does not help. */
export const retrySecs = (code: string, retryAfterMs = 1_000): number =>
  TRANSIENT.has(code) ? Math.max(1, Math.ceil(retryAfterMs / 1_000)) : 0;

/** What a bootstrap asks for (H9). */
export interface GenerateRequest {
  readonly agent_id: string;
  readonly iteration_number: number;
  /** Empty: the manifest's. */
  readonly model_alias: string;
  readonly prompt: string;
  /** Conversation to begin with: {role, content, …}. */
  readonly messages: readonly Json[];
}

export interface DispatchResult {
  readonly dispatch_id: string;
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly duration_ms: number;
  readonly truncated: boolean;
}

/**
 * The inner loop for agents that run in a program or container of their own (H9), implemented by dispatches.ts. Both calls
 * wait until the loop has a final answer or needs a command run; a call that was cut off is made again and gets the same answer.
 * Throws `not_found`, `failed_precondition` (ended; another iteration runs; no such dispatch is open), `invalid_argument`,
 * the model's and tools' errors.
 */
export interface DispatchApi {
  generate(
    tenant: string,
    executionId: string,
    request: GenerateRequest,
    options?: CallOptions,
  ): Promise<GatewayAnswer>;
  dispatchResult(
    tenant: string,
    executionId: string,
    result: DispatchResult,
    options?: CallOptions,
  ): Promise<GatewayAnswer>;
}

/**
 * Handles one request of a bootstrap; REST, gRPC and the file exchange of containers call it. `options.signal` ends the
 * wait, not the loop. Throws `forbidden` for a request about another execution than `own`, and what the loop throws.
 */
export function answerGateway(
  dispatch: DispatchApi,
  own: { readonly tenant: string; readonly executionId: string },
  request: GatewayRequest,
  options: CallOptions,
): Promise<GatewayAnswer> {
  const { tenant, executionId } = own;
  if (request.execution_id.toLowerCase() !== executionId.toLowerCase()) {
    const text = 'execution_id: expected the execution that the token or container was given to';
    return Promise.reject(new SvcError('forbidden', text, { field: 'execution_id' }));
  }
  if (request.type === 'generate') {
    const { type: _type, execution_id: _execution, ...asked } = request;
    return dispatch.generate(tenant, executionId, asked, options);
  }
  const { type: _type, execution_id: _execution, ...result } = request;
  return dispatch.dispatchResult(tenant, executionId, result, options);
}

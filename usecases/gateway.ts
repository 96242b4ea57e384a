import { z } from 'zod';
import { expectation } from '../manifests/expectation.ts';
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

/** The result of a dispatched command. */
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

/** The answer when the loop has ended; the bootstrap prints `content`. */
interface FinalAnswer {
  readonly type: 'final';
  readonly content: string;
  readonly tool_calls_executed: number;
  readonly conversation: readonly JsonObject[];
}

/** The answer that makes the bootstrap run a command. */
export interface DispatchAnswer {
  readonly type: 'dispatch';
  readonly dispatch_id: string;
  /** Always `exec`. */
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
 * Answers the requests of the bootstrap of one execution. `signal` ends the wait, not the loop: the same request sent
 * again gets the same answer. Throws `forbidden` for a request about another execution, and the errors of the loop.
 */
export type GatewayHandler = (request: GatewayRequest, signal: AbortSignal) => Promise<GatewayAnswer>;

/** Parses a request. Throws `invalid_argument` that names each wrong field and what was expected. */
export function gatewayRequestOf(value: unknown): GatewayRequest {
  const read = GatewayRequest.safeParse(value, { error: expected });
  if (read.success) return read.data;
  const details = read.error.issues
    .slice(0, 20)
    .map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  const shown = details.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  throw new SvcError('invalid_argument', shown, { details });
}

function expected(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'unrecognized_keys') return `unknown members: ${issue.keys.slice(0, 5).join(', ').slice(0, 200)}`;
  if (issue.code === 'invalid_type' && issue.expected === 'object') return 'expected an object';
  if (issue.code === 'invalid_union') return 'expected generate or dispatch_result';
  return expectation(issue);
}

/** An error in the shape that a bootstrap gets. */
export interface GatewayProblem {
  readonly error: string;
  readonly message: string;
  /** Seconds to wait before the same request is repeated; 0: do not repeat it. */
  readonly retry_secs: number;
}

/**
 * Transient errors of this node: the same request can succeed later. Errors of a model or of a limit are not transient.
 */
const TRANSIENT: ReadonlySet<string> = new Set(['unavailable', 'lease_lost', 'deadline_exceeded', 'mailbox_full']);

/**
 * Turns an error into a gateway problem. An error of kind `bug` gets only the fixed public text, since its own text
 * could contain secrets.
 */
export function gatewayProblem(thrown: unknown): GatewayProblem {
  const error = toSvcError(thrown);
  const message = error.row.kind === 'bug' ? ERRORS[error.code].message : error.message;
  return { error: error.code, message, retry_secs: retrySecs(error.code, error.retryAfterMs) };
}

/** Seconds to wait before the request is repeated; 0: repeating does not help. */
export const retrySecs = (code: string, retryAfterMs = 1_000): number =>
  TRANSIENT.has(code) ? Math.max(1, Math.ceil(retryAfterMs / 1_000)) : 0;

/** A bootstrap's request for the next answer of the model (H9). */
export interface GenerateRequest {
  readonly agent_id: string;
  readonly iteration_number: number;
  /** Empty: the alias of the manifest. */
  readonly model_alias: string;
  readonly prompt: string;
  /** The conversation to start with: {role, content, …}. */
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
 * Runs the inner loop for agents that run in a program or container of their own (H9). Implemented by dispatches.ts.
 * Both calls wait until the loop has a final answer or needs a command run. A caller that lost its connection repeats
 * the call and gets the same answer. Throws `not_found`, `failed_precondition` (the execution ended, another iteration
 * runs, or no such dispatch is open), `invalid_argument`, and the errors of the model and the tools.
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
 * Handles one request of a bootstrap for REST, gRPC and the file exchange of containers. `options.signal` ends the
 * wait, not the loop. Throws `forbidden` for a request about another execution than `own`, and the errors of the loop.
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

import { z } from 'zod';
import { ERRORS, SvcError, toSvcError } from '../../../runtime/errors.ts';
import type { JsonObject } from '../../../runtime/json.ts';

const MAX_ID_CHARS = 255;
const MAX_TEXT_CHARS = 16 * 1024 * 1024;
const MAX_MESSAGES = 1_000;
const MAX_INT32 = 2_147_483_647;

const text = z.string().max(MAX_TEXT_CHARS);
const id = z.string().min(1).max(MAX_ID_CHARS);

/** One entry of a conversation: role, content, tool_call_id, tool_calls; what else it holds is kept. */
const ConversationMessage = z
  .object({ role: z.string().min(1).max(64) })
  .catchall(z.json())
  .describe('role, content, tool_call_id, tool_calls[] {id, name, arguments}.');

/** First message of a bootstrap (spec 2, Dispatch gateway messages). */
export const GenerateMessage = z.strictObject({
  type: z.literal('generate'),
  agent_id: id,
  execution_id: id,
  iteration_number: z.number().int().min(1).max(MAX_INT32),
  /** Empty: the manifest's. */
  model_alias: z.string().max(MAX_ID_CHARS).default(''),
  prompt: text,
  messages: z.array(ConversationMessage).max(MAX_MESSAGES).default([]),
});

/** What became of a dispatched command. */
export const DispatchResultMessage = z.strictObject({
  type: z.literal('dispatch_result'),
  execution_id: id,
  dispatch_id: id,
  /** -1: timed out, or never run. */
  exit_code: z.number().int().min(-MAX_INT32).max(MAX_INT32),
  stdout: text,
  stderr: text,
  duration_ms: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  truncated: z.boolean(),
});

/** What a bootstrap sends. Unknown keys are refused by name. */
export const GatewayRequest = z.discriminatedUnion('type', [GenerateMessage, DispatchResultMessage]);
export type GatewayRequest = z.output<typeof GatewayRequest>;

/** The loop is over: what the program prints. */
export interface FinalAnswer {
  readonly type: 'final';
  readonly content: string;
  readonly tool_calls_executed: number;
  readonly conversation: readonly JsonObject[];
}

/** A command to run where the agent runs. */
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

/** What a bootstrap gets. */
export type GatewayAnswer = FinalAnswer | DispatchAnswer;

/**
 * Answers one execution's bootstrap. The wait ends with `signal`, the loop does not: the same request again gets the same
 * answer. Throws `forbidden` for a request that speaks of another execution, and what the loop throws.
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
  /** Seconds after which the same request is worth sending again; 0: never. */
  readonly retry_secs: number;
}

/** Passing troubles of this node, after which the very same request gets its answer; a model's or a limit's are not. */
const PASSING: ReadonlySet<string> = new Set(['unavailable', 'lease_lost', 'deadline_exceeded', 'mailbox_full']);

/** Says of a bug no more than that it is one. */
export function gatewayProblem(thrown: unknown): GatewayProblem {
  const error = toSvcError(thrown);
  const message = error.row.kind === 'bug' ? ERRORS[error.code].message : error.message;
  return { error: error.code, message, retry_secs: retrySecs(error.code, error.retryAfterMs) };
}

/** Seconds to wait before the request is sent again; 0: it will not help. */
export const retrySecs = (code: string, retryAfterMs = 1_000): number =>
  PASSING.has(code) ? Math.max(1, Math.ceil(retryAfterMs / 1_000)) : 0;

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

/** First message of a bootstrap (H9). */
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

/** Content type of answers in this form. */
export const SHELL_ANSWER = 'text/x-shellscript';

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * A value that any POSIX shell reads back as it is: single quotes, and each `'` as `'\''`. Throws `invalid_argument` for
 * NUL, which no variable, argument or path can hold.
 */
function quoted(field: string, value: string): string {
  if (value.includes('\0')) throw new SvcError('invalid_argument', `${field}: holds a NUL character`, { field });
  return `'${value.replaceAll("'", String.raw`'\''`)}'`;
}

const assign = (name: string, value: string | number): string => `svc_${name}=${quoted(name, String(value))}`;

/**
 * An answer as a script to be sourced (`. FILE`). It sets variables `svc_…` and, for a command, the positional parameters,
 * and does nothing else. Everything that is not a fixed word is quoted. The content of a final answer comes after
 * `return 0`, where no shell reads on: `tail -c "$svc_content_bytes" FILE` prints it exactly.
 */
export function shellAnswer(answer: GatewayAnswer): Buffer {
  if (answer.type === 'dispatch') return Buffer.from(script(dispatchLines(answer)));
  const content = Buffer.from(answer.content);
  const lines = [
    "svc_type='final'",
    assign('tool_calls_executed', answer.tool_calls_executed),
    assign('content_bytes', content.length),
  ];
  return Buffer.concat([Buffer.from(script(lines)), content]);
}

function dispatchLines(answer: DispatchAnswer): string[] {
  const env = Object.entries(answer.env_additions);
  return [
    "svc_type='dispatch'",
    assign('dispatch_id', answer.dispatch_id),
    assign('action', answer.action),
    assign('cwd', answer.cwd),
    assign('timeout_secs', Math.ceil(answer.timeout_secs)),
    assign('max_output_bytes', answer.max_output_bytes),
    assign('env_count', env.length),
    ...env.map(([name, value], index) => assign(`env_${index + 1}`, `${envName(name)}=${value}`)),
    `set -- ${[answer.command, ...answer.args].map((word) => quoted('args', word)).join(' ')}`,
  ];
}

function envName(name: string): string {
  if (ENV_NAME.test(name)) return name;
  throw new SvcError('invalid_argument', 'env_additions: expected names of letters, digits and _');
}

/** An error in the same form; `svc_retry_secs` 0: sending it again will not help. */
export const shellProblem = (problem: GatewayProblem): Buffer =>
  Buffer.from(
    script([
      "svc_type='error'",
      assign('error', problem.error.replaceAll('\0', '')),
      assign('message', problem.message.replaceAll('\0', '')),
      assign('retry_secs', problem.retry_secs),
    ]),
  );

const script = (lines: readonly string[]): string => `${[...lines, 'return 0'].join('\n')}\n`;

/** Content type of requests in this form. */
export const SHELL_REQUEST = 'text/x-svc-request';

/** Most bytes before the empty line. */
const MAX_HEAD_BYTES = 8 * 1024;

const COUNT = /^\d{1,9}$/;

const NUMBER = /^-?\d{1,15}$/;

/** Parts that follow the empty line, by message, in their order; their heads say `NAME_bytes`. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  generate: ['prompt'],
  dispatch_result: ['stdout', 'stderr'],
};

const NUMBERS: ReadonlySet<string> = new Set(['iteration_number', 'exit_code', 'duration_ms']);

/**
 * A request as a shell can write it without knowing JSON: the message's type, a line `NAME VALUE` for each field,
 * `NAME_bytes COUNT` for each long text, an empty line, and then those texts one after another, as they are.
 *
 *     dispatch_result
 *     execution_id 0f8c…
 *     dispatch_id d-1
 *     exit_code 0
 *     duration_ms 12
 *     truncated false
 *     stdout_bytes 6
 *     stderr_bytes 0
 *
 *     hello
 *
 * The answer has the JSON message's form, to be checked like one. Output that is not UTF-8 keeps its place as U+FFFD.
 * Throws `invalid_argument` naming the line or part.
 */
export function readShellRequest(bytes: Uint8Array): Record<string, unknown> {
  const { lines, body } = split(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const [type = '', ...fields] = lines;
  const parts = Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
  if (parts === undefined) throw malformed('type', 'expected "generate" or "dispatch_result" as the first line');
  const heads = headsOf(fields);
  const message: Record<string, unknown> = { type };
  let at = 0;
  for (const part of parts) {
    const count = heads.get(`${part}_bytes`);
    if (count === undefined || !COUNT.test(count)) throw malformed(`${part}_bytes`, 'expected a number of bytes');
    heads.delete(`${part}_bytes`);
    const end = at + Number(count);
    if (end > body.length) throw malformed(part, `expected ${count} bytes, the request ends before`);
    message[part] = decode(part, body.subarray(at, end));
    at = end;
  }
  if (at !== body.length) throw malformed('body', `${body.length - at} bytes follow the last part`);
  for (const [name, value] of heads) message[name] = fieldOf(name, value);
  return message;
}

function split(bytes: Buffer): { lines: string[]; body: Buffer } {
  const end = bytes.subarray(0, MAX_HEAD_BYTES).indexOf('\n\n');
  if (end < 0) throw malformed('head', `expected an empty line within the first ${MAX_HEAD_BYTES} bytes`);
  return { lines: bytes.toString('utf8', 0, end).split('\n'), body: bytes.subarray(end + 2) };
}

function headsOf(lines: readonly string[]): Map<string, string> {
  const heads = new Map<string, string>();
  for (const line of lines) {
    const space = line.indexOf(' ');
    const name = space < 0 ? line : line.slice(0, space);
    if (!/^[a-z_]{1,32}$/.test(name) || heads.has(name))
      throw malformed('head', 'expected lines "NAME VALUE", each once');
    heads.set(name, space < 0 ? '' : line.slice(space + 1));
  }
  return heads;
}

function fieldOf(name: string, value: string): unknown {
  if (NUMBERS.has(name)) return NUMBER.test(value) ? Number(value) : value;
  if (name === 'truncated') return value === 'true' || (value === 'false' ? false : value);
  return value;
}

/** A prompt is text; what a command wrote may be anything. */
function decode(part: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: part === 'prompt', ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new SvcError('invalid_argument', `${part}: is not valid UTF-8`, { field: part, cause });
  }
}

const malformed = (field: string, problem: string): SvcError =>
  new SvcError('invalid_argument', `${field}: ${problem}`, { field });

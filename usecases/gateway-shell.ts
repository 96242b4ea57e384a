import { invalidField, SvcError } from '../runtime/errors.ts';
import type { DispatchAnswer, GatewayAnswer, GatewayProblem } from './gateway.ts';

/** Content type of answers in the shell form. */
export const SHELL_ANSWER = 'text/x-shellscript';

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Quotes a value for any POSIX shell: single quotes, and each `'` as `'\''`. Throws `invalid_argument` for NUL, which no
 * variable, argument or path can contain.
 */
function quoted(field: string, value: string): string {
  if (value.includes('\0')) throw invalidField(field, 'expected text without a NUL character');
  return `'${value.replaceAll("'", String.raw`'\''`)}'`;
}

const assign = (name: string, value: string | number): string => `svc_${name}=${quoted(name, String(value))}`;

/**
 * Writes an answer as a script for `. FILE`. The script only sets variables `svc_…` and, for a command, the positional
 * parameters; every value is quoted. The content of a final answer follows `return 0`, where the shell stops reading:
 * `tail -c "$svc_content_bytes" FILE` prints it unchanged.
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

/** Writes an error as a script. `svc_retry_secs` 0 means that repeating the request does not help. */
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

/** Content type of requests in the shell form. */
export const SHELL_REQUEST = 'text/x-svc-request';

/** Maximum size of the head, which ends with an empty line. */
const MAX_HEAD_BYTES = 8 * 1024;

const COUNT = /^\d{1,9}$/;

const NUMBER = /^-?\d{1,15}$/;

/**
 * Names of the long texts after the empty line, in order, by message type. The head gives their lengths as
 * `NAME_bytes`.
 */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  generate: ['prompt'],
  dispatch_result: ['stdout', 'stderr'],
};

const NUMBERS: ReadonlySet<string> = new Set(['iteration_number', 'exit_code', 'duration_ms']);

/**
 * Reads a request that a shell wrote without JSON: a line with the message type, a line `NAME VALUE` for each field,
 * `NAME_bytes COUNT` for each long text, an empty line, then these texts one after another, unescaped.
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
 * Returns the fields of the JSON message, not validated yet. Invalid UTF-8 in output becomes U+FFFD. Throws
 * `invalid_argument` naming the line or text.
 */
export function readShellRequest(bytes: Uint8Array): Record<string, unknown> {
  const { lines, body } = split(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const [type = '', ...fields] = lines;
  const parts = Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
  if (parts === undefined) throw invalidField('type', 'expected "generate" or "dispatch_result" as the first line');
  const heads = headsOf(fields);
  const message: Record<string, unknown> = { type };
  let at = 0;
  for (const part of parts) {
    const count = heads.get(`${part}_bytes`);
    if (count === undefined || !COUNT.test(count)) throw invalidField(`${part}_bytes`, 'expected a number of bytes');
    heads.delete(`${part}_bytes`);
    const end = at + Number(count);
    if (end > body.length) throw invalidField(part, `expected ${count} bytes, but the request ends earlier`);
    message[part] = decode(part, body.subarray(at, end));
    at = end;
  }
  if (at !== body.length) throw invalidField('body', `${body.length - at} bytes follow the last part`);
  for (const [name, value] of heads) message[name] = fieldOf(name, value);
  return message;
}

function split(bytes: Buffer): { lines: string[]; body: Buffer } {
  const end = bytes.subarray(0, MAX_HEAD_BYTES).indexOf('\n\n');
  if (end < 0) throw invalidField('head', `expected an empty line within the first ${MAX_HEAD_BYTES} bytes`);
  return { lines: bytes.toString('utf8', 0, end).split('\n'), body: bytes.subarray(end + 2) };
}

function headsOf(lines: readonly string[]): Map<string, string> {
  const heads = new Map<string, string>();
  for (const line of lines) {
    const space = line.indexOf(' ');
    const name = space < 0 ? line : line.slice(0, space);
    if (!/^[a-z_]{1,32}$/.test(name) || heads.has(name))
      throw invalidField('head', 'expected lines "NAME VALUE", each once');
    heads.set(name, space < 0 ? '' : line.slice(space + 1));
  }
  return heads;
}

function fieldOf(name: string, value: string): unknown {
  if (NUMBERS.has(name)) return NUMBER.test(value) ? Number(value) : value;
  if (name === 'truncated') return value === 'true' || (value === 'false' ? false : value);
  return value;
}

/** Decodes a text. A prompt must be valid UTF-8; the output of a command may be any bytes. */
function decode(part: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: part === 'prompt', ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new SvcError('invalid_argument', `${part}: is not valid UTF-8`, { field: part, cause });
  }
}

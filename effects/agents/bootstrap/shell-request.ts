import { SvcError } from '../../../runtime/errors.ts';

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

import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { CliFailure, EXIT, exitCodeOf, isPassing } from './failure.ts';
import { problemLine } from './findings.ts';
import { type HttpAnswer, httpCall } from './http-call.ts';
import { isObject, type JsonObject, listOf, parseJson, textOf } from './json.ts';

/** Address of a node, and the credentials for it. */
interface NodeAddress {
  readonly url: string;
  readonly token?: string;
  /** Called once when no token was given. */
  readonly findToken?: () => Promise<string | undefined>;
  readonly tenant?: string;
}

export interface Call {
  /** A list repeats the name for each value. */
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent unchanged, with this content type. */
  readonly body?: { readonly type: string; readonly text: string | Uint8Array<ArrayBuffer> };
  readonly signal?: AbortSignal;
  /** Safe to repeat: the call is retried when its connection is cut. */
  readonly repeatable?: boolean;
  /** Default one minute. */
  readonly timeoutMs?: number;
  /** File of a body that is a manifest, for the problems found in it. */
  readonly file?: string;
}

/** A call that starts something. The key makes the node ignore a repeat, so it is retried when its connection is cut. */
export const startOnce = (json: object): Call => ({
  json,
  headers: { 'idempotency-key': randomUUID() },
  repeatable: true,
});

const CALL_TIMEOUT_MS = 60_000;
/** For the answer before the first event. */
const STREAM_ANSWER_MS = 300_000;
const REPEATS = 2;
const MAX_SHOWN_CHARS = 300;

/** The REST API of one node. Throws `CliFailure` with the exit code of the error. */
export class NodeClient {
  readonly address: NodeAddress;
  #token: Promise<string | undefined> | undefined;

  constructor(address: NodeAddress) {
    this.address = address;
  }

  async json(method: string, path: string, call: Call = {}): Promise<JsonObject> {
    const answer = parseJson(await this.text(method, path, call));
    if (isObject(answer)) return answer;
    throw new CliFailure(EXIT.internal, `${this.address.url} did not answer with JSON: is it an svc node?`);
  }

  async text(method: string, path: string, call: Call = {}): Promise<string> {
    return new TextDecoder().decode(await this.bytes(method, path, call));
  }

  /** Content of any type. */
  async bytes(method: string, path: string, call: Call = {}): Promise<Uint8Array> {
    const timeout = AbortSignal.timeout(call.timeoutMs ?? CALL_TIMEOUT_MS);
    const signal = call.signal === undefined ? timeout : AbortSignal.any([call.signal, timeout]);
    for (let repeat = 0; ; repeat += 1) {
      try {
        const answer = await this.#send(method, path, call, signal);
        const content = await contentOf(answer, signal);
        if (isOk(answer)) return content;
        throw failureOf(answer.status, content, call.file);
      } catch (thrown) {
        if (thrown instanceof CliFailure) throw thrown;
        if (call.repeatable === true && repeat < REPEATS && reasonOf(thrown) === 'ECONNRESET') continue;
        throw this.#unreachable(thrown, call.timeoutMs);
      }
    }
  }

  /** The body of an event stream, or null when it has ended (204). */
  async stream(path: string, lastEventId: number, signal: AbortSignal): Promise<Readable | null> {
    const resume: Record<string, string> = lastEventId > 0 ? { 'last-event-id': String(lastEventId) } : {};
    const headers = { accept: 'text/event-stream', ...resume };
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new DOMException('no answer', 'TimeoutError')), STREAM_ANSWER_MS);
    try {
      const answer = await this.#send('GET', path, { headers }, AbortSignal.any([signal, late.signal]));
      if (answer.status === 204) {
        answer.body.resume();
        return null;
      }
      if (isOk(answer)) return answer.body;
      throw failureOf(answer.status, await contentOf(answer, signal));
    } catch (thrown) {
      throw thrown instanceof CliFailure ? thrown : this.#unreachable(thrown, STREAM_ANSWER_MS);
    } finally {
      clearTimeout(timer);
    }
  }

  async #send(method: string, path: string, call: Call, signal: AbortSignal): Promise<HttpAnswer> {
    const { tenant, url } = this.address;
    const token = await this.#tokenOf(this.address);
    const target = new URL(`${url.replace(/\/+$/, '')}${path}`);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      for (const one of typeof value === 'string' ? [value] : (value ?? [])) target.searchParams.append(name, one);
    }
    const content =
      call.body ??
      (call.json === undefined ? undefined : { type: 'application/json', text: JSON.stringify(call.json) });
    const headers: Record<string, string> = {
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(tenant === undefined ? {} : { 'x-tenant-id': tenant }),
      ...(content === undefined ? {} : { 'content-type': content.type }),
      ...call.headers,
    };
    return httpCall(target, { method, headers, signal, body: content?.text });
  }

  async #tokenOf({ token, findToken }: NodeAddress): Promise<string | undefined> {
    if (token !== undefined) return token;
    this.#token ??= findToken?.();
    return this.#token;
  }

  #unreachable(thrown: unknown, timeoutMs = CALL_TIMEOUT_MS): CliFailure {
    const reason = reasonOf(thrown, timeoutMs);
    const hint = reason === 'ECONNREFUSED' ? ' (is it started? svc start)' : '';
    return new CliFailure(EXIT.connection, `cannot reach ${this.address.url}: ${reason}${hint}`);
  }
}

const isOk = ({ status }: HttpAnswer): boolean => status >= 200 && status < 300;

async function contentOf({ body }: HttpAnswer, signal: AbortSignal): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of body) pieces.push(piece);
  } catch (thrown) {
    throw signal.aborted ? signal.reason : thrown;
  }
  return Buffer.concat(pieces);
}

/** Name of the system error behind an error. */
function reasonOf(thrown: unknown, timeoutMs = CALL_TIMEOUT_MS): string {
  let error = thrown;
  for (let depth = 0; depth < 5 && error instanceof Error; depth += 1) {
    if ('code' in error && typeof error.code === 'string')
      return error.code === 'UND_ERR_SOCKET' ? 'ECONNRESET' : error.code;
    if (error instanceof AggregateError && error.errors.length > 0) error = error.errors[0];
    else if (error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1_000} s`;
    else if (error.cause === undefined) return error.message;
    else error = error.cause;
  }
  return 'the connection failed';
}

/** Reads both error bodies of the REST API: `{error: CODE, message, details?}` and `{error: TEXT, details?}`. */
function failureOf(status: number, body: Uint8Array, file?: string): CliFailure {
  const answer = parseJson(new TextDecoder().decode(body));
  const said = textOf(answer, 'message') || textOf(answer, 'error') || `HTTP ${status}`;
  const problems = listOf(answer, 'details').map((detail) => problemLine(detail, file));
  const text = inWordsOfCli(said.split('\n', 1)[0]?.slice(0, MAX_SHOWN_CHARS) ?? said);
  // A single problem is the message already.
  const more = problems.length === 1 && problems[0] === said ? [] : problems.map(inWordsOfCli);
  const isAdvised = !isPassing(status) || /try again later\.$/i.test(text);
  return new CliFailure(exitCodeOf(status), isAdvised ? text : `${text} Try again later.`, more);
}

/** Replaces the API's parameter names by the flags and arguments of the command line, and adds what a user of it can do. */
const inWordsOfCli = (text: string): string =>
  text
    .replace(/\buse force to\b/, 'use --force to')
    .replace(/^(?:querystring|params|headers|body)\.([a-z_-]+)(?:\.\d+)?/, '$1')
    .replace(/^(invalid execution id)$/, '$1: expected the UUID of a run; svc runs list shows them')
    .replace(/^(invalid request id)$/, '$1: expected the UUID of an approval; svc approval list shows them')
    .replace(/^(A valid bearer token is needed): .*$/, '$1: give it by --token or SVC_TOKEN, or save it by svc login.')
    .replace(/^The caller's role does not allow the action \w+\.$/, '$& svc whoami shows what it allows.')
    .replace(/^(\w+): unknown query parameter; expected/, 'there is no condition $1; expected');

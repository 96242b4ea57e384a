import { AccessEndedError, eventsOf, StreamCutError, type StreamedEvent } from './event-stream.ts';
import { operationsOf, type SvcClient } from './gen/operations.ts';
import { resumed } from './resumed-stream.ts';

export type { StreamedEvent, SvcClient };
export { AccessEndedError, StreamCutError };

/** Address of the node, and the caller. */
export interface ClientOptions {
  /** Such as `http://127.0.0.1:8080`. */
  readonly baseUrl: string;
  /** Bearer token; a function is called before each request. Absent or undefined: the node's local operator, on loopback. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>);
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the request; the promise rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
  /** A repeat with the same key and body starts nothing new and gets the first answer. */
  readonly idempotencyKey?: string;
  /** Tenant that a service account acts in. */
  readonly tenant?: string;
  /** W3C trace context of the caller. */
  readonly traceparent?: string;
  /** For streams: the id of the last event that was seen; the stream continues after it. */
  readonly lastEventId?: number | string;
  /**
   * For streams: how long the node may be unreachable before the stream fails; default one minute. `false`: a lost connection
   * is thrown, as `StreamCutError` where the node announced it, and the caller resumes.
   */
  readonly resume?: false | { readonly patienceMs: number };
}

const PATIENCE_MS = 60_000;
/** Statuses of temporary refusals: time-outs, too many calls, a node or proxy that stops or starts. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** How an operation is sent; written by the generator. */
export interface Route {
  readonly method: string;
  /** Parameters as `{name}`. */
  readonly path: string;
  readonly query: readonly string[];
  /** `json`: the other members of the input; a media type: the member `body`; null: no body. */
  readonly body: 'json' | 'application/yaml' | 'application/octet-stream' | null;
  readonly answer: 'json' | 'text' | 'bytes' | 'stream';
}

/** An answer with status 400 or more. */
export class SvcApiError extends Error {
  readonly status: number;
  /** Code of the error table; null where the route answers only with a text. */
  readonly code: string | null;
  readonly details: unknown;
  /** Time until the call may be repeated, given by the node; absent when it should not be repeated. */
  readonly retryAfterMs: number | undefined;

  constructor(
    status: number,
    { code, message, details }: { readonly code: string | null; readonly message: string; readonly details: unknown },
    retryAfterMs: number | undefined,
  ) {
    super(message);
    this.name = 'SvcApiError';
    this.status = status;
    this.code = code;
    this.details = details;
    this.retryAfterMs = retryAfterMs;
  }
}

type Input = Readonly<Record<string, unknown>>;

/** Sends operations to one node. */
export class Sender {
  readonly #options: ClientOptions;

  /** Throws `TypeError` for an address without its scheme, such as `127.0.0.1:8080`: each call would fail. */
  constructor(options: ClientOptions) {
    const { baseUrl } = options;
    if (!/^https?:/.test(baseUrl) || !URL.canParse(baseUrl))
      throw new TypeError(`baseUrl: expected an address such as http://127.0.0.1:8080, got ${baseUrl}`);
    this.#options = options;
  }

  /**
   * A JSON answer. Throws, like all methods here, `SvcApiError` for a refusal, and the error of `fetch` when the node is
   * unreachable.
   */
  async json<Answer>(route: Route, input: object = {}, options: CallOptions = {}): Promise<Answer> {
    const text = await this.text(route, input, options);
    return JSON.parse(text === '' ? 'null' : text);
  }

  async text(route: Route, input: object = {}, options: CallOptions = {}): Promise<string> {
    return (await this.#send(route, input, options)).text();
  }

  async bytes(route: Route, input: object = {}, options: CallOptions = {}): Promise<Uint8Array> {
    return new Uint8Array(await (await this.#send(route, input, options)).arrayBuffer());
  }

  /**
   * Events of a stream, until it ends, the loop is left or `signal` aborts. After a lost connection or a restart of the node it
   * continues with the next event, without loss or repeats; streams without numbers are not resumed.
   */
  async *stream<Event>(
    route: Route,
    input: object = {},
    options: CallOptions = {},
  ): AsyncGenerator<StreamedEvent<Event>, void, undefined> {
    const open = async (lastEventId: CallOptions['lastEventId']): Promise<ReadableStream<Uint8Array> | null> =>
      (await this.#send(route, input, { ...options, lastEventId })).body;
    const { lastEventId: after, resume = { patienceMs: PATIENCE_MS }, signal } = options;
    if (resume !== false && route.query.includes('last_event_id')) {
      const mayPass = (thrown: unknown): boolean => !(thrown instanceof SvcApiError) || PASSING.has(thrown.status);
      const renewsToken = typeof this.#options.token === 'function';
      return yield* resumed<Event>({ open, mayPass, renewsToken, after, signal, patienceMs: resume.patienceMs });
    }
    const body = await open(after);
    if (body !== null) yield* eventsOf<Event>(body);
  }

  async #send(route: Route, input: object, options: CallOptions): Promise<Response> {
    const { fetch: send = fetch, baseUrl } = this.#options;
    const rest: Record<string, unknown> = { ...input };
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => {
      const value = rest[name];
      delete rest[name];
      if (value === undefined || UNFIT.has(String(value)))
        throw new TypeError(`${name}: expected a value for the path ${route.path}`);
      return encodeURIComponent(String(value));
    });
    const url = new URL(baseUrl.replace(/\/$/, '') + path);
    for (const name of route.query) {
      const value = rest[name];
      delete rest[name];
      const values: readonly unknown[] = Array.isArray(value) ? value : [value];
      for (const one of values) if (one !== undefined) url.searchParams.append(name, String(one));
    }
    const { type, content } = bodyOf(route, rest);
    const response = await send(url, {
      method: route.method,
      headers: await this.#headers(route, options, type),
      body: content,
      signal: options.signal,
    });
    if (response.status >= 400) throw await refusalOf(response);
    return response;
  }

  async #headers(route: Route, options: CallOptions, type: string | null): Promise<Headers> {
    const headers = new Headers({ accept: ACCEPTED[route.answer] });
    const { token } = this.#options;
    const bearer = typeof token === 'function' ? await token() : token;
    if (bearer !== undefined) headers.set('authorization', `Bearer ${bearer}`);
    if (type !== null) headers.set('content-type', type);
    const given = {
      'idempotency-key': options.idempotencyKey,
      'x-tenant-id': options.tenant,
      traceparent: options.traceparent,
      'last-event-id': options.lastEventId?.toString(),
    };
    for (const [name, value] of Object.entries(given)) if (value !== undefined) headers.set(name, value);
    return headers;
  }
}

/** Values of path parameters that would change the path: URLs drop or merge them. */
const UNFIT: ReadonlySet<string> = new Set(['', '.', '..']);

const ACCEPTED = {
  json: 'application/json',
  text: '*/*',
  bytes: '*/*',
  stream: 'text/event-stream',
} as const;

function bodyOf(
  route: Route,
  rest: Input,
): { readonly type: string | null; readonly content: string | Uint8Array<ArrayBuffer> | undefined } {
  const { body } = rest;
  if (route.body === null) return { type: null, content: undefined };
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const type = route.body === 'json' ? 'application/yaml' : route.body;
    return { type, content: typeof body === 'string' ? body : new Uint8Array(body) };
  }
  if (route.body !== 'json') return { type: null, content: undefined };
  return { type: 'application/json', content: JSON.stringify(body === undefined ? rest : body) };
}

/** Error bodies are `{error: TEXT}` or `{error: CODE, message: TEXT}`. */
async function refusalOf(response: Response): Promise<SvcApiError> {
  const text = await response.text();
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new SvcApiError(response.status, problemOf(text, response.status), seconds >= 0 ? seconds * 1_000 : undefined);
}

function problemOf(text: string, status: number) {
  const unknown = { code: null, message: `status ${status}: ${text.slice(0, 200)}`, details: undefined };
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy in between answered with something other than JSON.
    return unknown;
  }
  if (typeof body !== 'object' || body === null || !('error' in body) || typeof body.error !== 'string') return unknown;
  const details = 'details' in body ? body.details : undefined;
  if ('message' in body && typeof body.message === 'string')
    return { code: body.error, message: body.message, details };
  return { code: null, message: body.error, details };
}

/** A client with one method for each operation of the API. */
export const createClient = (options: ClientOptions): SvcClient => operationsOf(new Sender(options));

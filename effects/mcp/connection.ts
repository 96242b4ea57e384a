import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { longTimer } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';
import type { Secrets } from '../../security/api.ts';
import { Redactor } from '../programs/captured-output.ts';
import { createEndpoint, type Endpoint, type EndpointParts } from './endpoint.ts';
import type { McpLog, McpServerSettings, ServerCredentials } from './limits.ts';
import { FloodGauge } from './server-log.ts';
import { STOPPED } from './stdio-transport.ts';
import { CallResult, loadSdk, type McpCallResult, type McpSdk, resultOf, ToolPage } from './tool-list.ts';

interface ConnectionParts extends EndpointParts {
  readonly log: McpLog;
  readonly now: () => number;
  /** Of the product, told to servers. */
  readonly version: string;
  readonly onToolsChanged: () => void;
  /** Ends it, also while it is being opened. */
  readonly signal: AbortSignal;
}

/** Aborts with one of these are ours; a server may answer with any error code. */
const TIMED_OUT = 'timed out';

const CANCELLED = 'cancelled';

const TEXT_CHARS = 500;

const PROGRESS_CHARS = 1_000;

/** One life of a server: from its launch, or the first request, to its end. */
export class Connection {
  readonly #parts: ConnectionParts;
  readonly #sdk: McpSdk;
  readonly #client: Client;
  readonly #lost = Promise.withResolvers<string>();
  #why: string | null = null;
  readonly #endpoint: Endpoint;

  private constructor(parts: ConnectionParts, sdk: McpSdk) {
    this.#parts = parts;
    this.#sdk = sdk;
    this.#endpoint = createEndpoint(sdk, parts, (why) => this.#drop(why));
    this.#client = new sdk.Client({ name: 'svc', version: parts.version }, { capabilities: {} });
  }

  /** Throws `unavailable` with what went wrong; nothing is left running then. */
  static async open(parts: ConnectionParts): Promise<Connection> {
    const connection = new Connection(parts, await loadSdk());
    const onAbort = (): void => connection.#drop(STOPPED);
    parts.signal.addEventListener('abort', onAbort, { once: true });
    try {
      parts.signal.throwIfAborted();
      await connection.#connect();
      return connection;
    } catch (error) {
      const told = connection.#textOf(error);
      await connection.#endpoint.end(told);
      // The client stops its transport after a failed start, which is no reason.
      const why = connection.#why === null || connection.#why === STOPPED ? told : connection.#why;
      throw new SvcError('unavailable', why, { cause: error });
    } finally {
      parts.signal.removeEventListener('abort', onAbort);
    }
  }

  /** Resolves when it has ended, with the reason, for people. */
  get lost(): Promise<string> {
    return this.#lost.promise;
  }

  async #connect(): Promise<void> {
    const { settings, limits, log, now, onToolsChanged } = this.#parts;
    const { transport } = this.#endpoint;
    const gauge = new FloodGauge(limits, now);
    const count = (): void => {
      if (gauge.count()) this.#drop(`it sent more than ${limits.messages} messages in ${limits.messagesEveryMs} ms`);
    };
    transport.onmessage = count;
    this.#client.onerror = (error) => {
      // What is no message is counted too.
      count();
      log.debug({ server: settings.name, error: this.#textOf(error) }, 'MCP server');
    };
    this.#client.setNotificationHandler(this.#sdk.ToolListChangedNotificationSchema, onToolsChanged);
    await this.#client.connect(transport, { timeout: limits.startMs });
    // Not before: the client closes itself after a failed start, whose error says more.
    this.#client.onclose = () => this.#drop('the connection was closed');
  }

  /** Ends it for something it did. */
  #drop(why: string): void {
    if (this.#lose(why))
      this.#endpoint.end(why).catch((error: unknown) => this.#parts.log.warn({ err: error }, 'MCP server'));
  }

  #lose(why: string): boolean {
    if (this.#why !== null) return false;
    this.#why = why;
    this.#lost.resolve(why);
    return true;
  }

  /** All pages of its list, unchecked. Throws `unavailable`, `deadline_exceeded`, `tool_failed`. */
  async list(timeoutMs: number): Promise<readonly unknown[]> {
    const { tools: most, toolPages } = this.#parts.limits;
    const found: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < toolPages && found.length <= most; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const { tools, nextCursor } = await this.#ask(timeoutMs, (options) =>
        this.#client.request({ method: 'tools/list', params }, ToolPage, options),
      );
      found.push(...tools);
      cursor = nextCursor;
      if (cursor === undefined) break;
    }
    return found;
  }

  async ping(timeoutMs: number): Promise<void> {
    await this.#ask(timeoutMs, (options) =>
      this.#client.request({ method: 'ping' }, this.#sdk.EmptyResultSchema, options),
    );
  }

  /** Never repeated here. An error that the server answers with is a result for whoever called. */
  async call(
    call: { readonly tool: string; readonly arguments: JsonObject; readonly timeoutMs: number },
    { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress?: (text: string) => void },
  ): Promise<McpCallResult> {
    const { clean } = this.#parts.credentials;
    const params = { name: call.tool, arguments: call.arguments };
    const onprogress: RequestOptions['onprogress'] =
      onProgress &&
      (({ message, progress, total }) =>
        onProgress(clean(message ?? shareOf(progress, total)).slice(0, PROGRESS_CHARS)));
    try {
      const answer = await this.#ask(
        call.timeoutMs,
        (options) =>
          this.#client.request({ method: 'tools/call', params }, CallResult, {
            ...options,
            ...(onprogress === undefined ? {} : { onprogress }),
          }),
        signal,
      );
      const result = resultOf(answer, clean);
      if (result === null)
        throw new SvcError('tool_failed', `${this.#name} answered with a result that is nested too deep`);
      return result;
    } catch (error) {
      if (!(error instanceof this.#sdk.McpError)) throw error;
      return { content: [{ type: 'text', text: this.#textOf(error) }], isError: true };
    }
  }

  /** One request under its own time-out, which no progress extends. */
  async #ask<Answer>(
    timeoutMs: number,
    ask: (options: RequestOptions) => Promise<Answer>,
    signal?: AbortSignal,
  ): Promise<Answer> {
    signal?.throwIfAborted();
    const own = new AbortController();
    const cancelTimeout = longTimer(timeoutMs, () => own.abort(TIMED_OUT));
    const onAbort = (): void => own.abort(CANCELLED);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      // The SDK's own time-out is behind ours, so that the two cannot be confused.
      return await ask({ signal: own.signal, timeout: timeoutMs + 60_000 });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (own.signal.aborted) {
        throw new SvcError(
          'deadline_exceeded',
          `${this.#name} did not answer within ${timeoutMs} ms; the work may have been done`,
        );
      }
      throw this.#failure(error);
    } finally {
      cancelTimeout();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** The server's own error answers stay what they are. */
  #failure(error: unknown): unknown {
    if (this.#why === null && error instanceof this.#sdk.McpError) return error;
    if (this.#why === null && isParseError(error)) {
      return new SvcError('tool_failed', `${this.#name} answered with something else than MCP says`, { cause: error });
    }
    const why = this.#why ?? this.#textOf(error);
    if (!(error instanceof this.#sdk.StreamableHTTPError && isPassing(error.code))) this.#drop(why);
    const text = `${this.#name} is gone: ${why}; the work may have been done`;
    return new SvcError('unavailable', text, { cause: error });
  }

  get #name(): string {
    return `the MCP server ${this.#parts.settings.name}`;
  }

  /** May be shown to operators and models: no secrets, no endless texts. */
  #textOf(error: unknown): string {
    const text = error instanceof Error ? error.message : String(error);
    const cause = error instanceof TypeError && error.cause instanceof Error ? `: ${error.cause.message}` : '';
    return this.#parts.credentials.clean(text + cause).slice(0, TEXT_CHARS);
  }

  async close(): Promise<void> {
    await this.#endpoint.end(this.#lose(STOPPED) ? null : this.#why);
  }
}

/** Something else than MCP says, by the SDK's own schemas or ours. */
const isParseError = (error: unknown): boolean => error instanceof Error && /^\$?ZodError$/.test(error.name);

/** Too many requests, or trouble that is not ours: the same session may work again. */
const isPassing = (status: number | undefined): boolean => status === 429 || (status !== undefined && status >= 500);

/** Of a call that says how far it is and nothing else. */
const shareOf = (progress: number, total: number | undefined): string =>
  total === undefined ? String(progress) : `${progress}/${total}`;

/** Throws `failed_precondition` naming the reference that leads nowhere. */
export async function lookUpCredentials(
  { credentials, environment, headers, url }: McpServerSettings,
  secrets: Secrets,
): Promise<ServerCredentials> {
  const hidden: string[] = [];
  const look = async (texts: Readonly<Record<string, string>>): Promise<Record<string, string>> => {
    const found: Record<string, string> = {};
    for (const [name, reference] of Object.entries(texts)) {
      const value = await secrets.resolve(SYSTEM_TENANT, reference);
      hidden.push(value);
      found[name] = value;
    }
    return found;
  };
  const given = await look(credentials);
  // Plain settings such as `LOG_LEVEL: debug` are no secrets; what is behind a reference is one.
  const plain = Object.fromEntries(Object.entries(environment).filter(([, text]) => !isReference(text)));
  const referred = await look(Object.fromEntries(Object.entries(environment).filter(([, text]) => isReference(text))));
  const clean = (text: string): string => {
    const redactor = new Redactor(hidden);
    return redactor.push(text) + redactor.end();
  };
  if (url === undefined) return { environment: { ...plain, ...referred, ...given }, headers: {}, clean };
  const { bearer } = given;
  const authorization: Record<string, string> = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  return { environment: {}, headers: { ...(await look(headers)), ...authorization }, clean };
}

const isReference = (text: string): boolean => /^(env|secret|literal):/.test(text);

import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { outgoingTrace } from '../../runtime/calls/calls-of-effect.ts';
import { longTimer } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { createEndpoint, type Endpoint, type EndpointParts } from './endpoint.ts';
import type { McpLimits, McpLog } from './limits.ts';
import { loadSdk, type McpSdk } from './sdk.ts';
import { STOPPED } from './stdio-transport.ts';
import { CallResult, type McpCallResult, resultOf, ToolPage } from './tool-list.ts';

interface ConnectionParts extends EndpointParts {
  readonly log: McpLog;
  readonly now: () => number;
  /** Version of the product, sent to servers. */
  readonly version: string;
  readonly onToolsChanged: () => void;
  /** Ends the connection, also while it is opened. */
  readonly signal: AbortSignal;
}

/** Abort reasons that mark our own aborts, since a server may answer with any error code. */
const TIMED_OUT = 'timed out';

const CANCELLED = 'cancelled';

const TEXT_CHARS = 500;

const PROGRESS_CHARS = 1_000;

/** One connection to a server, from its launch or first request to its end. */
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

  /** Throws `unavailable` with the reason, after everything it started has ended. */
  static async open(parts: ConnectionParts): Promise<Connection> {
    const connection = new Connection(parts, await loadSdk());
    const onAbort = (): void => connection.#drop(STOPPED);
    parts.signal.addEventListener('abort', onAbort, { once: true });
    try {
      parts.signal.throwIfAborted();
      await connection.#connect();
      return connection;
    } catch (error) {
      const text = connection.#textOf(error);
      await connection.#endpoint.end(text);
      // The client stops its transport after a failed start, which is not the cause.
      const why = connection.#why === null || connection.#why === STOPPED ? text : connection.#why;
      throw new SvcError('unavailable', why, { cause: error });
    } finally {
      parts.signal.removeEventListener('abort', onAbort);
    }
  }

  /** Resolves with a readable reason when it has ended. */
  get lost(): Promise<string> {
    return this.#lost.promise;
  }

  async #connect(): Promise<void> {
    const { settings, limits, log, now, onToolsChanged } = this.#parts;
    const { transport } = this.#endpoint;
    const rate = new MessageRate(limits, now);
    const count = (): void => {
      if (rate.count()) this.#drop(`it sent more than ${limits.messages} messages in ${limits.messagesEveryMs} ms`);
    };
    transport.onmessage = count;
    this.#client.onerror = (error) => {
      // Invalid messages count too.
      count();
      log.debug({ server: settings.name, error: this.#textOf(error) }, 'MCP server');
    };
    this.#client.setNotificationHandler(this.#sdk.ToolListChangedNotificationSchema, onToolsChanged);
    await this.#client.connect(transport, { timeout: limits.startMs });
    // Set after the start: the client closes itself after a failed one, whose error is more precise.
    this.#client.onclose = () => this.#drop('the connection was closed');
  }

  /** Ends the connection because of the server's behaviour. */
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

  /** All pages of the tool list, not validated. Throws `unavailable`, `deadline_exceeded`, `tool_failed`. */
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

  /** Sends a call once. An error answer of the server is a result. */
  async call(
    call: { readonly tool: string; readonly arguments: JsonObject; readonly timeoutMs: number },
    { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress?: (text: string) => void },
  ): Promise<McpCallResult> {
    const { clean } = this.#parts.credentials;
    const trace = outgoingTrace();
    const meta = trace === null ? {} : { _meta: { ...trace } };
    const params = { name: call.tool, arguments: call.arguments, ...meta };
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

  /** One request under its own time-out, which progress does not extend. */
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
      // The SDK's time-out is later than ours, so that only ours takes effect.
      return await ask({ signal: own.signal, timeout: timeoutMs + 60_000 });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (own.signal.aborted) {
        throw new SvcError('deadline_exceeded', `${this.#name} did not answer within ${timeoutMs} ms`);
      }
      throw this.#failure(error);
    } finally {
      cancelTimeout();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Keeps error answers of the server unchanged. */
  #failure(error: unknown): unknown {
    if (this.#why === null && error instanceof this.#sdk.McpError) return error;
    if (this.#why === null && isParseError(error)) {
      return new SvcError('tool_failed', `${this.#name} answered with an invalid MCP message`, { cause: error });
    }
    const why = this.#why ?? this.#textOf(error);
    if (!(error instanceof this.#sdk.StreamableHTTPError && isTransient(error.code))) this.#drop(why);
    const text = `${this.#name} has ended: ${why}`;
    return new SvcError('unavailable', text, { cause: error });
  }

  get #name(): string {
    return `the MCP server ${this.#parts.settings.name}`;
  }

  /** A text for operators and models: without secrets, bounded. */
  #textOf(error: unknown): string {
    const text = error instanceof Error ? error.message : String(error);
    const cause = error instanceof TypeError && error.cause instanceof Error ? `: ${error.cause.message}` : '';
    return this.#parts.credentials.clean(text + cause).slice(0, TEXT_CHARS);
  }

  async close(): Promise<void> {
    await this.#endpoint.end(this.#lose(STOPPED) ? null : this.#why);
  }
}

/** An answer that violates the SDK's schemas or ours. */
const isParseError = (error: unknown): boolean => error instanceof Error && /^\$?ZodError$/.test(error.name);

/** Too many requests or a server error: the same session may work again. */
const isTransient = (status: number | undefined): boolean => status === 429 || (status !== undefined && status >= 500);

/** Text for progress without a message. */
const shareOf = (progress: number, total: number | undefined): string =>
  total === undefined ? String(progress) : `${progress}/${total}`;

/** Counts messages in time windows, so that a server that floods the node is detected. */
class MessageRate {
  readonly #limits: McpLimits;
  readonly #now: () => number;
  #windowStart: number;
  #count = 0;

  constructor(limits: McpLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
    this.#windowStart = now();
  }

  /** Counts one message; true: the limit is exceeded. */
  count(): boolean {
    const now = this.#now();
    if (now - this.#windowStart >= this.#limits.messagesEveryMs) {
      this.#windowStart = now;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count > this.#limits.messages;
  }
}

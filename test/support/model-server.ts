/**
 * A stand-in for paid models: a local HTTP server that speaks the real wire formats (OpenAI chat completions,
 * Anthropic messages, Google generateContent; streamed and in one piece) over real sockets, so that the AI SDK and
 * everything above it run unchanged. Each test scripts the turns; every request is recorded. It proves that our side
 * speaks and reads the formats as documented, not that a vendor's service behaves.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Wire, wireFor } from './model-server-wire.ts';

/** What the server does with one request. */
export interface ModelTurn {
  /** Pieces of the text, one stream event each. */
  readonly chunks?: readonly string[];
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  /** Absent: the answer has no usage. */
  readonly usage?: { readonly input: number; readonly output: number };
  readonly finish?: 'stop' | 'length';
  /** Waits before each piece, and before a cut, so that the client has read what came before. */
  readonly delayMs?: number;
  /** Destroys the socket after this many pieces. */
  readonly cutAfter?: number;
  /** Ends the response in order after this many pieces, but without the closing events. */
  readonly endAfter?: number;
  /** Sends this piece again and again until the client hangs up. */
  readonly endless?: string;
  /** Never answers. */
  readonly silent?: boolean;
  /** Pieces after which the stream falls silent. */
  readonly stallAfter?: number;
  /** Answers with this status and body instead. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Raw body instead of the format's. */
  readonly body?: string;
  /** An error event inside the stream, after the pieces. */
  readonly streamError?: { readonly type: string; readonly message: string };
}

export interface RecordedCall {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly atMs: number;
  /** The client hung up before the answer was complete. */
  aborted: boolean;
}

export class ModelServer {
  readonly calls: RecordedCall[] = [];
  readonly #turns: ModelTurn[] = [];
  #choose: ((call: RecordedCall) => ModelTurn) | null = null;
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    );
  });

  /** Answers for the next requests, in order; the last one stays. */
  script(...turns: readonly ModelTurn[]): void {
    this.#turns.splice(0, this.#turns.length, ...turns);
    this.calls.length = 0;
  }

  /** Answers each request by its content, for tests with many requests at a time. */
  answer(choose: (call: RecordedCall) => ModelTurn): void {
    this.#choose = choose;
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** Base URL without a path. */
  get url(): string {
    const address = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${address.port}`;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const call: RecordedCall = {
      path: request.url ?? '',
      headers: request.headers,
      body,
      atMs: performance.now(),
      aborted: false,
    };
    this.calls.push(call);
    response.on('close', () => {
      call.aborted = !response.writableFinished;
    });
    const turn = this.#choose?.(call) ?? (this.#turns.length > 1 ? this.#turns.shift() : this.#turns[0]) ?? {};
    if (turn.silent) return;
    if (turn.status !== undefined || turn.body !== undefined) {
      response.writeHead(turn.status ?? 200, { 'content-type': 'application/json', ...turn.headers });
      response.end(turn.body ?? '');
      return;
    }
    const wire = wireFor(call.path, body);
    if (!wire.streams) {
      response.writeHead(200, { 'content-type': 'application/json', ...turn.headers });
      response.end(JSON.stringify(wire.whole(turn)));
      return;
    }
    await stream(wire, turn, response);
  }
}

async function stream(wire: Wire, turn: ModelTurn, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...turn.headers });
  const write = async (text: string): Promise<void> => {
    if (response.write(text) || response.destroyed) return;
    const given = new AbortController();
    await Promise.race([
      once(response, 'drain', { signal: given.signal }),
      once(response, 'close', { signal: given.signal }),
    ]).finally(() => given.abort());
  };
  await write(wire.opening(turn));
  let sent = 0;
  for (const piece of piecesOf(turn)) {
    if (turn.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, turn.delayMs));
    if (response.destroyed || stopsAfter(sent, turn, response)) return;
    await write(wire.piece(piece));
    sent += 1;
  }
  if (stopsAfter(sent, turn, response)) return;
  if (turn.streamError !== undefined) return void response.end(wire.error(turn.streamError));
  response.end(wire.closing(turn));
}

function stopsAfter(sent: number, turn: ModelTurn, response: ServerResponse): boolean {
  if (sent === turn.endAfter) response.end();
  else if (sent === turn.cutAfter) response.destroy();
  else return sent === turn.stallAfter;
  return true;
}

function* piecesOf(turn: ModelTurn): Generator<string> {
  yield* turn.chunks ?? [];
  if (turn.endless !== undefined) for (;;) yield turn.endless;
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(Buffer.from(part));
  const parsed: unknown = JSON.parse(Buffer.concat(parts).toString('utf8') || '{}');
  return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
}

export async function startModelServer(): Promise<ModelServer> {
  const server = new ModelServer();
  await server.start();
  return server;
}

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

interface HttpCall {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: Readable;
}

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * One HTTP call over `node:http`. Loading `fetch` takes a third of the processor time of a command, so it is loaded only for
 * what it does more: it follows redirects, and says why it refuses an address or a header. An `import` of `node:http` would
 * load it, since `WebSocket` is a name of that module.
 */
export async function httpCall(target: URL, call: HttpCall): Promise<HttpAnswer> {
  const isPlain = /^https?:$/.test(target.protocol) && target.username === '' && target.password === '';
  const answer = isPlain ? await plainCall(target, call) : null;
  if (answer === null) return byFetch(target, call);
  const { statusCode: status = 0, headers } = answer;
  if (REDIRECTS.includes(status) && headers.location !== undefined) {
    answer.destroy();
    return byFetch(target, call);
  }
  return { status, body: answer };
}

const REDIRECTS = [301, 302, 303, 307, 308];

async function byFetch(target: URL, { method, headers, body, signal }: HttpCall): Promise<HttpAnswer> {
  const done = new AbortController();
  const response = await fetch(target, { method, headers, signal: AbortSignal.any([signal, done.signal]), body });
  const pieces = Readable.from(response.body ?? [], { objectMode: false });
  // A read that waits would keep the connection.
  pieces.once('close', () => done.abort());
  return { status: response.status, body: pieces };
}

/** Null when a header cannot be sent, or the server speaks no TLS. */
async function plainCall(target: URL, call: HttpCall): Promise<IncomingMessage | null> {
  const { method, body, signal } = call;
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const headers = { 'user-agent': 'node', 'accept-encoding': 'identity', ...length, ...call.headers };
  const isSecure = target.protocol === 'https:';
  const { request: send } = process.getBuiltinModule(isSecure ? 'node:https' : 'node:http');
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage | null>();
  try {
    const sent = send(target, { method, headers, signal });
    let isConnected = false;
    const timer = setTimeout(() => sent.destroy(notConnected()), CONNECT_TIMEOUT_MS);
    const connected = (): void => {
      isConnected = true;
      clearTimeout(timer);
    };
    sent.once('socket', (socket) => {
      if (socket.connecting) socket.once(isSecure ? 'secureConnect' : 'connect', connected);
      else connected();
    });
    sent.once('close', () => clearTimeout(timer));
    sent.once('response', resolve);
    sent.on('error', (error: NodeJS.ErrnoException) => {
      // A request that is written before the handshake fails hides the reason.
      if (error.code === 'EPROTO' && !isConnected) resolve(null);
      else reject(signal.aborted ? signal.reason : error);
    });
    sent.end(body);
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown;
    resolve(null);
  }
  return promise;
}

const notConnected = (): Error =>
  Object.assign(new Error(`no connection within ${CONNECT_TIMEOUT_MS} ms`), { code: 'UND_ERR_CONNECT_TIMEOUT' });

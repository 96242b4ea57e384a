import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { toSvcError } from '../../../runtime/errors.ts';

type ControlRoutes = Readonly<Record<string, (body: unknown, query: URLSearchParams) => Promise<unknown>>>;

const MOST_BYTES = 20 * 1024 * 1024;

/**
 * JSON over HTTP on a free loopback port, for the test process alone: `{value}`, or `{error: {code, kind, message}}`
 * with status 500. Keys of `routes` are `GET /path`.
 */
export async function startControlServer(routes: ControlRoutes): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://control');
    const route = routes[`${request.method} ${url.pathname}`];
    const answered =
      route === undefined
        ? Promise.reject(new Error(`no route ${request.method} ${url.pathname}`))
        : readJson(request).then((body) => route(body, url.searchParams));
    answered.then(
      (value) => response.end(JSON.stringify({ value: value ?? null })),
      (thrown: unknown) => {
        const { code, row, message } = toSvcError(thrown);
        const error = { code, kind: row.kind, message: code === 'internal' ? String(thrown) : message };
        response.writeHead(500).end(JSON.stringify({ error }));
      },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the control endpoint has no port');
  return `http://127.0.0.1:${address.port}`;
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    if (!(chunk instanceof Buffer)) continue;
    size += chunk.length;
    if (size > MOST_BYTES) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return size === 0 ? null : JSON.parse(Buffer.concat(chunks).toString());
}

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

const Message = z.object({
  id: z.union([z.number(), z.string()]).optional(),
  method: z.string(),
  params: z.object({ name: z.string().optional(), _meta: z.record(z.string(), z.unknown()).optional() }).optional(),
});

export interface HttpServer extends AsyncDisposable {
  readonly url: string;
  /** Headers of every request it got. */
  readonly seen: readonly IncomingHttpHeaders[];
  readonly methods: readonly string[];
  /** Headers and `_meta` of each `tools/call`. */
  readonly calls: readonly {
    readonly headers: IncomingHttpHeaders;
    readonly meta: Readonly<Record<string, unknown>>;
  }[];
  /** Forgets every session: the next request of one is 404. */
  forget(): void;
}

/** A hand-written MCP server over HTTP with a fault for each of its tools. */
export async function httpServer(
  options: { readonly bearer?: string; readonly redirect?: string; readonly port?: number } = {},
): Promise<HttpServer> {
  const seen: IncomingHttpHeaders[] = [];
  const methods: string[] = [];
  const calls: { headers: IncomingHttpHeaders; meta: Readonly<Record<string, unknown>> }[] = [];
  let generation = 1;
  const server = createServer(async (request, response) => {
    seen.push(request.headers);
    const body = await text(request);
    if (options.redirect !== undefined) return response.writeHead(307, { location: options.redirect }).end();
    if (options.bearer !== undefined && request.headers.authorization !== `Bearer ${options.bearer}`) {
      return response.writeHead(401).end(`not ${request.headers.authorization}`);
    }
    if (request.method !== 'POST') return response.writeHead(request.method === 'DELETE' ? 200 : 405).end();
    const message = Message.parse(JSON.parse(body));
    methods.push(message.method);
    if (message.method === 'tools/call') calls.push({ headers: request.headers, meta: message.params?._meta ?? {} });
    const session = `s${generation}`;
    if (message.method !== 'initialize' && request.headers['mcp-session-id'] !== session) {
      return response.writeHead(404).end();
    }
    if (message.id === undefined) return response.writeHead(202).end();
    return answer(response, message, session);
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/mcp`,
    ...{ seen, methods, calls },
    forget() {
      generation += 1;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const TOOLS = ['echo', 'large', 'large-event', 'endless', 'broken', 'busy', 'nonsense'];

function answer(response: ServerResponse, { id, method, params }: z.output<typeof Message>, session: string): unknown {
  const json = (result: unknown): void => {
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  const stream = (): void => void response.writeHead(200, { 'content-type': 'text/event-stream' });
  const large = 'x'.repeat(200_000);
  if (method === 'initialize') {
    return json({
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'h', version: '1' },
    });
  }
  if (method === 'tools/list') return json({ tools: TOOLS.map((name) => ({ name, inputSchema: { type: 'object' } })) });
  switch (params?.name) {
    case 'large':
      return json({ content: [{ type: 'text', text: large }] });
    case 'large-event':
      stream();
      response.write(`data: ${large}`);
      return;
    case 'endless': {
      // Small events, one after the other: allowed, however many bytes they are together.
      stream();
      for (let n = 0; n < 200; n += 1) response.write(`: ${'x'.repeat(1_000)}\n\n`);
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n`);
      return;
    }
    case 'broken':
      stream();
      response.write(': soon\n\n', () => response.destroy());
      return;
    case 'busy':
      response.writeHead(503).end('come back later');
      return;
    case 'nonsense':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
      return;
    default:
      return json({ content: [{ type: 'text', text: 'echo' }] });
  }
}

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const HOST = '127.0.0.2';

const answer: RequestListener = (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', `http://${HOST}`);
  const status = /^\/status\/(\d{3})$/.exec(pathname)?.[1];
  if (pathname === '/never') return;
  if (pathname === '/search') {
    const found = { title: 'Found', url: `http://${HOST}/page`, content: `about ${searchParams.get('q')}` };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ results: [found] }));
  } else if (pathname === '/away') {
    response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
  } else {
    response.writeHead(status === undefined ? 200 : Number(status), { 'content-type': 'text/html' });
    response.end('<html><body><h1>Title</h1><p>A page.</p></body></html>');
  }
};

/** Pages and a search provider (SearXNG's protocol) on the only address that the node may reach. */
export class Pages implements AsyncDisposable {
  readonly host = HOST;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<Pages> {
    const server = createServer(answer);
    server.listen(0, HOST);
    await once(server, 'listening');
    return new Pages(server);
  }

  url(path: string): string {
    return `http://${HOST}:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

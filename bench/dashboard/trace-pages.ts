import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { generateTrace, type TraceShape } from './generated-trace.ts';

const DIST = join(import.meta.dirname, '..', '..', 'dashboard', 'dist');
const PAGE_ROWS = 1_000;

const CONFIG = { sign_in: 'none', oidc: null, role_claim: 'svc_role', version: 'bench' };

const JSON_TYPE = 'application/json';

const NOT_FOUND = JSON.stringify({ error: 'not_found', message: 'not here' });

interface Content {
  readonly status?: number;
  readonly type: string;
  readonly body: string | Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

/** The built pages, and one generated trace behind the API, so that only the browser is measured. */
export class TracePages implements AsyncDisposable {
  readonly #server: Server;
  readonly #pages: ReadonlyMap<string, string>;
  readonly path: string;
  #url = '';

  private constructor(shape: TraceShape) {
    const { head, deliveries, effects } = generateTrace(shape);
    const pages = new Map<string, string>();
    const perPage = Math.ceil((effects.length / deliveries.length) * PAGE_ROWS);
    const count = Math.ceil(deliveries.length / PAGE_ROWS);
    for (let page = 0; page < count; page += 1) {
      const body = {
        ...head,
        deliveries: deliveries.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS),
        effects: effects.slice(page * perPage, (page + 1) * perPage),
        next: page + 1 < count ? String(page + 1) : null,
      };
      pages.set(page === 0 ? '' : String(page), JSON.stringify(body));
    }
    this.#pages = pages;
    this.path = `/traces/${head.trace_id}`;
    this.#server = createServer((request, response) =>
      this.#answer(new URL(request.url ?? '/', 'http://localhost'), response),
    );
  }

  static async start(shape: TraceShape): Promise<TracePages> {
    const pages = new TracePages(shape);
    pages.#server.listen(0, '127.0.0.1');
    await once(pages.#server, 'listening');
    const address = pages.#server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    pages.#url = `http://127.0.0.1:${address.port}`;
    return pages;
  }

  get url(): string {
    return this.#url;
  }

  #answer(url: URL, response: ServerResponse): void {
    const { status = 200, type, body } = this.#contentOf(url);
    response.writeHead(status, { 'content-type': type }).end(body);
  }

  #contentOf({ pathname, searchParams }: URL): Content {
    if (pathname === '/dashboard/config.json') return { type: JSON_TYPE, body: JSON.stringify(CONFIG) };
    if (pathname.startsWith('/assets/')) {
      const name = pathname.slice('/assets/'.length);
      const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'text/plain';
      return { type, body: readFileSync(join(DIST, 'assets', name)) };
    }
    const page = pathname === `/v1${this.path}` ? this.#pages.get(searchParams.get('next') ?? '') : undefined;
    if (page !== undefined) return { type: JSON_TYPE, body: page };
    if (pathname.startsWith('/v1/')) return { status: 404, type: JSON_TYPE, body: NOT_FOUND };
    return { type: 'text/html; charset=utf-8', body: readFileSync(join(DIST, 'index.html')) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';

const DIST = join(import.meta.dirname, '..', '..', 'dashboard', 'dist');

const CONFIG = { sign_in: 'none', oidc: null, role_claim: 'svc_role', version: 'bench', recording: null };

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

/** Answer of the API to a GET: JSON, or undefined for 404. */
export type ApiAnswers = (url: URL) => string | undefined;

/** The built pages, and generated answers behind the API, so that only the browser is measured. */
export class BuiltPages implements AsyncDisposable {
  readonly #server: Server;
  readonly #answers: ApiAnswers;
  #url = '';

  private constructor(answers: ApiAnswers) {
    this.#answers = answers;
    this.#server = createServer((request, response) =>
      this.#answer(new URL(request.url ?? '/', 'http://localhost'), response),
    );
  }

  static async start(answers: ApiAnswers): Promise<BuiltPages> {
    const pages = new BuiltPages(answers);
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

  #contentOf(url: URL): Content {
    const { pathname } = url;
    if (pathname === '/dashboard/config.json') return { type: JSON_TYPE, body: JSON.stringify(CONFIG) };
    if (pathname.startsWith('/assets/')) {
      const name = pathname.slice('/assets/'.length);
      const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'text/plain';
      return { type, body: readFileSync(join(DIST, 'assets', name)) };
    }
    if (!pathname.startsWith('/v1/'))
      return { type: 'text/html; charset=utf-8', body: readFileSync(join(DIST, 'index.html')) };
    const body = this.#answers(url);
    return body === undefined ? { status: 404, type: JSON_TYPE, body: NOT_FOUND } : { type: JSON_TYPE, body };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

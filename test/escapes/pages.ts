import type { IncomingMessage, ServerResponse } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const MiB = 1_024 * 1_024;
const HTML = { 'content-type': 'text/html' };
const ZEROS = Buffer.alloc(64 * MiB);

/** A thousand times as large unpacked, also twice. */
const BOMBS: Readonly<Record<string, () => { readonly encoding: string; readonly body: Buffer }>> = {
  gzip: () => ({ encoding: 'gzip', body: gzipSync(ZEROS) }),
  brotli: () => ({ encoding: 'br', body: brotliCompressSync(Buffer.alloc(32 * MiB)) }),
  'gzip-members': () => ({ encoding: 'gzip', body: Buffer.concat(Array(16).fill(gzipSync(ZEROS))) }),
  'gzip-twice': () => ({ encoding: 'gzip, gzip', body: gzipSync(gzipSync(ZEROS)) }),
  'cut-short': () => ({ encoding: 'gzip', body: gzipSync(ZEROS).subarray(0, 1_000) }),
};
const PAGES: Readonly<Record<string, () => string>> = {
  deep: () => '<div>'.repeat(200_000),
  tables: () => '<table><tr><td>'.repeat(20_000),
  attributes: () => `<p ${Array.from({ length: 100_000 }, (_, at) => `a${at}=1`).join(' ')}>`,
  entities: () => '&lt;'.repeat(500_000),
  script: () => '<html><body><script>while(true){}</script><img src=x onerror=alert(1)><p>end</p></body></html>',
};

/** Pages of a hostile server; each says by its path what it does. */
export function page(request: IncomingMessage, response: ServerResponse, hiddenPort: number): void {
  const url = new URL(request.url ?? '/', 'http://page');
  const [, what = '', name = ''] = url.pathname.split('/');
  if (what === 'bomb') {
    const { encoding, body } = (BOMBS[name] ?? BOMBS.gzip)?.() ?? { encoding: 'gzip', body: Buffer.alloc(0) };
    response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': encoding }).end(body);
  } else if (what === 'html') response.writeHead(200, HTML).end((PAGES[name] ?? PAGES.deep)?.());
  else if (what === 'to')
    response.writeHead(302, { location: decodeURIComponent(name).replace('HIDDEN', String(hiddenPort)) }).end();
  else if (what === 'hop') response.writeHead(302, { location: `/hop/${Number(name) + 1}` }).end();
  else if (what === 'endless') endless(response);
  else if (what === 'drip') drip(response);
  else if (what === 'headers') response.writeHead(200, { 'x-long': 'x'.repeat(200_000) }).end('late');
  else if (what === 'silent') response.on('close', () => {});
  else if (what === 'length')
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '99999999999' }).end('x');
  else if (what === 'binary') response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(ZEROS);
  else response.end('a page');
}

function endless(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/plain' });
  const chunk = Buffer.alloc(256 * 1_024, 'x');
  const write = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', write);
  write();
}

function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/plain' });
  const timer = setInterval(() => response.write('x'), 100);
  response.on('close', () => clearInterval(timer));
}

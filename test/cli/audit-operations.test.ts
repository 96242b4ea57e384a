import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chainOf as callsOf, exportOf as sessionExport, signer } from '../manifests/audit/call-chains.ts';
import { chainOf, exportOf, stated, TENANT } from '../manifests/audit/entry-chains.ts';
import { type SvcResult, svc } from './svc-run.ts';

const node = signer('node');
const chains = { a: chainOf('a', 2), b: chainOf('b', 1_200, 'b') };
const statements = [stated('a', chains, node)];

/** What a node answers, by path; records come in pages of 1,000. */
function answerOf(url: URL): object | undefined {
  if (url.pathname === '/.well-known/jwks.json') return { keys: [node.jwk] };
  if (url.pathname === '/v1/audit/chains') {
    const listed = Object.entries(chains).map(([name, records]) => {
      return { node: name, first: 1, last: records.length, checkpoint: null };
    });
    return { tenant: TENANT, chains: listed, statements };
  }
  if (url.pathname !== '/v1/audit/records') return undefined;
  const after = Number(url.searchParams.get('after'));
  const records = url.searchParams.get('node') === 'a' ? chains.a : chains.b;
  return { records: records.slice(after, after + 1_000) };
}

const server = createServer((request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(answerOf(new URL(request.url ?? '', 'http://localhost'))));
});
let directory: string;
let url: string;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-audit-'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  url = `http://127.0.0.1:${address.port}`;
});
after(async () => {
  server.close();
  server.closeAllConnections();
  await rm(directory, { recursive: true, force: true });
});

const run = (args: readonly string[], input = ''): Promise<SvcResult> =>
  svc(['audit', ...args], { SVC_URL: url }, input);
const file = (name: string): string => join(directory, name);

test('the chains of operations are exported page by page and verified offline, each open with the time of its head', async () => {
  assert.equal((await run(['export', '-o', file('chains.json'), '--jwks', file('keys.json')])).code, 0);
  assert.deepEqual(JSON.parse(await readFile(file('chains.json'), 'utf8')), exportOf(chains, statements));
  const verified = await svc(['audit', 'verify', file('chains.json'), '--jwks', file('keys.json')]);
  assert.deepEqual([verified.code, verified.stderr], [0, '']);
  assert.deepEqual(verified.stdout.split('\n'), [
    'node a: 3 records, open chain, head of 2026-01-01T01:00:00.000Z, stated by 1 node',
    'node b: 1201 records, open chain, head of 2026-01-01T01:00:00.000Z, stated by 1 node',
    `${file('chains.json')}: operations of tenant acme, 2 chains, nothing wrong`,
    '',
  ]);
});

test('a cut tail is printed with its node and record, and the exit code is 1', async () => {
  const cut = exportOf({ ...chains, a: chains.a.slice(0, 2) }, statements);
  const bad = await run(['verify', '-', '--jwks', file('keys.json')], JSON.stringify(cut));
  assert.equal(bad.code, 1);
  assert.match(bad.stdout, /^node a, record 3: truncated: node a stated record 3 at 2026-01-01T01:00:00.000Z/);
});

test('a chain of tool calls that was not closed is called open as well', async () => {
  const exported = sessionExport(callsOf(2).slice(0, -1), node);
  const verified = await run(['verify', '-', '--jwks', file('keys.json')], JSON.stringify(exported));
  assert.equal(verified.code, 0);
  assert.match(verified.stdout, /nothing wrong, open chain, head of 2026-01-01T00:00:00.000Z\n$/);
});

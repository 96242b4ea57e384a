import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chainOf, exportOf, signer } from '../manifests/audit/call-chains.ts';
import { exportOf as entriesExport, chainOf as entriesOf, stated, TENANT } from '../manifests/audit/entry-chains.ts';
import { type SvcResult, svc } from './svc-run.ts';

const node = signer('node');
const exported = exportOf(chainOf(2), node);
const chains = { a: entriesOf('a', 2), b: entriesOf('b', 1_200, 'b') };
const statements = [stated('a', chains, node)];

/** What a node answers, by path; records come in pages of 1,000. */
function answerOf({ pathname, searchParams }: URL): object | undefined {
  if (pathname === '/v1/seal/sessions/session-1/audit') return exported;
  if (pathname === '/.well-known/jwks.json') return { keys: [node.jwk] };
  if (pathname === '/v1/audit/chains') {
    const listed = Object.entries(chains).map(([name, records]) => {
      return { node: name, first: 1, last: records.length, checkpoint: null };
    });
    return { tenant: TENANT, chains: listed, statements };
  }
  if (pathname !== '/v1/audit/records') return undefined;
  const after = Number(searchParams.get('after'));
  const records = searchParams.get('node') === 'a' ? chains.a : chains.b;
  return { records: records.slice(after, after + 1_000) };
}

const server = createServer((request, response) => {
  const answer = answerOf(new URL(request.url ?? '', 'http://localhost'));
  response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(answer ?? { error: 'not_found', message: 'no such session' }));
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

test('a chain is exported with its keys and then verified without a node', async () => {
  const kept = await run(['export', 'session-1', '-o', file('chain.json'), '--jwks', file('keys.json')]);
  assert.deepEqual(kept, { code: 0, stdout: '', stderr: '' });
  assert.deepEqual(JSON.parse(await readFile(file('chain.json'), 'utf8')), exported);
  const verified = await svc(['audit', 'verify', file('chain.json'), '--jwks', file('keys.json')]);
  assert.deepEqual([verified.code, verified.stderr], [0, '']);
  assert.match(verified.stdout, /session session-1 of tenant acme, 6 records, nothing wrong\n$/);
  assert.equal((await run(['export', 'session-2'])).code, 1);
});

test('every fault is printed with its record, and the exit code is 1', async () => {
  const records = exported.records.filter(({ sequence }) => sequence !== 3);
  await writeFile(file('keys.json'), JSON.stringify({ keys: [node.jwk] }));
  const bad = await run(['verify', '-', '--jwks', file('keys.json')], JSON.stringify({ ...exported, records }));
  assert.equal(bad.code, 1);
  assert.match(bad.stdout, /^record 4: missing: record 3 is missing before it\n.*, 5 records, 1 fault\n$/);
  assert.equal(bad.stderr, 'svc: the audit chain differs from what was recorded\n');
  const asJson = await run(
    ['verify', '-', '--jwks', file('keys.json'), '--output', 'json'],
    JSON.stringify({ ...exported, records }),
  );
  assert.deepEqual(
    JSON.parse(asJson.stdout).faults.map(({ kind }: { kind: string }) => kind),
    ['missing'],
  );
});

test('keys of another node verify nothing; without keys only hashes are checked, and the output says so', async () => {
  await writeFile(file('others.json'), JSON.stringify({ keys: [signer('node').jwk] }));
  const others = await run(['verify', '-', '--jwks', file('others.json')], JSON.stringify(exported));
  assert.equal(others.code, 1);
  assert.match(others.stdout, /^chain: bad_head: /);
  const hashes = await run(['verify', '-'], JSON.stringify(exported));
  assert.deepEqual(
    [hashes.code, hashes.stderr],
    [0, 'svc: only hashes were checked; use --jwks FILE to check the signature\n'],
  );
});

test('wrong input is named, with exit code 2', async () => {
  for (const [args, input, text] of [
    [['verify', file('nothing.json')], '', /FILE: the file .* cannot be read \(ENOENT\)/],
    [['verify', '-'], '{', /FILE: expected JSON in -/],
    [['verify', '-', '--jwks', file('chain.json')], '{}', /--jwks: expected \{"keys": \[\.\.\.\]\}/],
    [['export', 'session-1', '-o', file('no/such/place')], '', /--out: the file .* cannot be written \(ENOENT\)/],
  ] as const) {
    const result = await run(args, input);
    assert.equal(result.code, 2, result.stderr);
    assert.match(result.stderr, text);
  }
});

test('the chains of operations are exported page by page and verified offline, each open with the time of its head', async () => {
  assert.equal((await run(['export', '-o', file('chains.json'), '--jwks', file('keys.json')])).code, 0);
  assert.deepEqual(JSON.parse(await readFile(file('chains.json'), 'utf8')), entriesExport(chains, statements));
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
  const cut = entriesExport({ ...chains, a: chains.a.slice(0, 2) }, statements);
  const bad = await run(['verify', '-', '--jwks', file('keys.json')], JSON.stringify(cut));
  assert.equal(bad.code, 1);
  assert.match(bad.stdout, /^node a, record 3: truncated: node a stated record 3 at 2026-01-01T01:00:00.000Z/);
});

test('a chain of tool calls that was not closed is called open as well', async () => {
  const open = exportOf(chainOf(2).slice(0, -1), node);
  const verified = await run(['verify', '-', '--jwks', file('keys.json')], JSON.stringify(open));
  assert.equal(verified.code, 0);
  assert.match(verified.stdout, /nothing wrong, open chain, head of 2026-01-01T00:00:00.000Z\n$/);
});

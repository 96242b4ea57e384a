import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chainOf, exportOf, signer } from '../manifests/audit/call-chains.ts';
import { type SvcResult, svc } from './svc-run.ts';

const node = signer('node');
const exported = exportOf(chainOf(2), node);
const ANSWERS: Readonly<Record<string, object>> = {
  '/v1/seal/sessions/session-1/audit': exported,
  '/.well-known/jwks.json': { keys: [node.jwk] },
};
const server = createServer((request, response) => {
  const answer = ANSWERS[request.url ?? ''];
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

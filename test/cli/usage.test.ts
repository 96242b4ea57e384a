import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { NODE_FLAGS } from '../../cli/commands/start.ts';
import { shownValue } from '../../cli/output.ts';
import { CONFIG_FILE, SETTING_SOURCES } from '../../manifests/node/managed.ts';
import { refusingPort } from '../support/free-port.ts';
import { svc } from './svc-run.ts';

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}

test('svc start takes every flag a node has', () => {
  const flags = [CONFIG_FILE.flag, ...SETTING_SOURCES.map(({ flag }) => flag)];
  assert.deepEqual(Object.keys(NODE_FLAGS).toSorted(), flags.toSorted());
});

test('output for people cuts long texts, and says how to get all of it', () => {
  const shown = JSON.parse(shownValue({ name: 'x'.repeat(1_000), file: 'y'.repeat(5_000) }));
  assert.equal(shown.name, 'x'.repeat(1_000));
  assert.equal(shown.file, `${'y'.repeat(1_000)}… (5000 characters, all of them with --output json)`);
});

test('without a node: exit code 5, and one line with the address and what to do', async () => {
  using refusing = await refusingPort();
  const url = `http://127.0.0.1:${refusing.port}`;
  const { code, stdout, stderr } = await svc(['agent', 'list'], { SVC_URL: url });
  assert.deepEqual([code, stdout], [5, '']);
  assert.equal(stderr, `svc: cannot reach ${url}: ECONNREFUSED (is it started? svc start)\n`);
});

test('a trace and a message are shown by their ids alone', async () => {
  using refusing = await refusingPort();
  const url = `http://127.0.0.1:${refusing.port}`;
  for (const group of ['trace', 'message']) {
    const { code, stderr } = await svc([group, '0af7651916cd43dd8448eb211c80319c'], { SVC_URL: url });
    assert.equal(code, 5, stderr);
  }
});

test('wrong use is exit code 2 and one line that names what is wrong', async () => {
  const cases: [string[], RegExp][] = [
    [['task', 'execute'], /missing required argument 'agent'/],
    [['agent', 'frobnicate'], /unknown command 'frobnicate'/],
    [['task', 'list', '--frob'], /unknown option '--frob'/],
    [['task', 'list', '--limit', 'many'], /--limit: expected a whole number of at least 1, got many/],
    [['task', 'list', '--output', 'xml'], /--output: expected text, table, json, yaml, got xml/],
    [['task', 'list', '--url', 'ftp://x'], /--url: expected an address such as/],
    [['task', 'list', '--port', 'http'], /--port: expected a port number/],
    [['start', '--http-port', 'many'], /--http-port/],
  ];
  for (const [args, says] of cases) {
    const { code, stderr } = await svc(args);
    assert.equal(code, 2, args.join(' '));
    assert.match(stderr, says);
    assert.doesNotMatch(stderr, /\n\s+at /, 'no stack');
  }
});

test('a node that cannot start says why in its exit code', async () => {
  const server = createServer();
  const port = await listen(server);
  const data = await mkdtemp(join(tmpdir(), 'svc-start-'));
  try {
    const taken = await svc(['start', '--data', data, '--grpc-port', '0', '--http-port', String(port)]);
    assert.equal(taken.code, 4, taken.stderr);
    assert.match(taken.stderr, /^svc: .*already in use 127\.0\.0\.1:\d+ \(choose another port; 0 picks a free one\)$/m);
    const open = await svc(['start', '--data', data, '--bind', '0.0.0.0']);
    assert.equal(open.code, 2);
    assert.match(open.stderr, /--bind: 0\.0\.0\.0 is not loopback/);
    const noDirectory = await svc(['start', '--data', '/dev/null/data']);
    assert.equal(noDirectory.code, 2, noDirectory.stderr);
  } finally {
    server.close();
    await rm(data, { recursive: true, force: true });
  }
});

test('help and version are exit code 0 and go to standard output', async () => {
  for (const args of [['--help'], ['task', 'execute', '--help'], ['version'], ['--version']]) {
    const { code, stdout, stderr } = await svc(args);
    assert.deepEqual([code, stderr], [0, ''], args.join(' '));
    assert.notEqual(stdout, '');
  }
  assert.match((await svc(['version', '--output', 'json'])).stdout, /"svc": "\d+\.\d+\.\d+"/);
});

test('a token, a tenant or an address that cannot be used is refused by its name, and a token is not repeated', async () => {
  const run = async (args: string[], env: Record<string, string>) => {
    const { code, stderr } = await svc(['task', 'list', ...args], env);
    return [code, stderr];
  };
  const expected = 'expected visible ASCII characters, without spaces and line breaks';
  const [secret, url] = ['line-one\nline-two', 'http://127.0.0.1:1'];
  assert.deepEqual(await run([], { SVC_URL: url, SVC_TOKEN: secret }), [2, `svc: --token, SVC_TOKEN: ${expected}\n`]);
  assert.deepEqual(await run(['--tenant', 'a b'], { SVC_URL: url }), [2, `svc: --tenant: ${expected}\n`]);
  const address = 'expected an address such as http://127.0.0.1:8080, got';
  assert.deepEqual(await run([], { SVC_URL: 'nonsense' }), [2, `svc: SVC_URL: ${address} nonsense\n`]);
  assert.deepEqual(await run(['--url', 'nonsense'], {}), [2, `svc: --url: ${address} nonsense\n`]);
  assert.deepEqual(await run([], { SVC_HOST: 'a b' }), [2, `svc: SVC_HOST: ${address} http://a b:8080\n`]);
});

test('every status of the node has its exit code, and token and tenant are sent', async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.headers.authorization} ${request.headers['x-tenant-id']}`);
    response.writeHead(Number(request.url?.split('/').pop()), { 'content-type': 'application/json' });
    response.end('{"error":"code","message":"what is wrong"}');
  });
  const port = await listen(server);
  try {
    const expected = { 400: 2, 401: 3, 403: 3, 404: 1, 409: 4, 413: 2, 422: 2, 429: 5, 500: 10, 503: 5 };
    const env = { SVC_HOST: '127.0.0.1', SVC_TOKEN: 'secret-token' };
    const runs = Object.entries(expected).map(async ([status, code]) => {
      const run = await svc(['task', 'status', status, '--port', String(port), '--tenant', 'acme'], env);
      assert.equal(run.code, code, status);
      assert.match(run.stderr, /^svc: what is wrong.*\n$/);
      assert.doesNotMatch(run.stderr, /secret-token/);
    });
    await Promise.all(runs);
    assert.deepEqual(new Set(seen), new Set(['Bearer secret-token acme']));
  } finally {
    server.close();
  }
});

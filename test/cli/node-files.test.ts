import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { resolveSettings } from '../../manifests/node/settings.ts';
import { refusingPort } from '../support/free-port.ts';
import { waitUntil } from '../support/wait-until.ts';
import { SvcRun, svc } from './svc-run.ts';

let directory = '';
const file = (name: string): string => join(directory, name);
const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-node-'));
});
after(() => rm(directory, { recursive: true, force: true }));

/** A server that accepts connections, as a controller does. */
async function listener() {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return { endpoint: `127.0.0.1:${address.port}`, [Symbol.dispose]: () => server.close() };
}

const init = (name: string, ...args: string[]) =>
  svc(['node', 'init', '--file', file(`${name}.yaml`), '--data', file(name), ...args]);

describe('svc node init', () => {
  test('writes a configuration that a node takes, and a key that only its user can read', async () => {
    const made = await init(
      'worker',
      '--role=worker',
      '--controllers=10.0.0.1:50056,10.0.0.2:50056',
      '--tags=gpu,zone:eu',
      '--redis=env:REDIS_SECRET_URL',
      '--mongodb=mongodb://mongo:27017/svc',
      '--join-token=env:JOIN',
    );
    assert.equal(made.code, 0, made.stderr);
    const text = await readFile(file('worker.yaml'), 'utf8');
    const resolved = resolveSettings({ flags: {}, env: {}, file: text });
    assert.ok(resolved.ok, JSON.stringify(resolved));
    const { cluster, node, stores } = resolved.settings;
    assert.deepEqual(cluster.controller, { endpoint: ['10.0.0.1:50056', '10.0.0.2:50056'], token: 'env:JOIN' });
    assert.deepEqual([cluster.enabled, cluster.role, node.tags], [true, 'worker', ['gpu', 'zone:eu']]);
    assert.deepEqual([stores.redis, stores.data_dir], [['env:REDIS_SECRET_URL'], file('worker')]);
    const key = createPrivateKey(await readFile(cluster.node_keypair_path ?? '', 'utf8'));
    assert.equal(key.asymmetricKeyType, 'ed25519');
    assert.deepEqual(
      [await modeOf(file('worker.yaml')), await modeOf(cluster.node_keypair_path ?? ''), await modeOf(file('worker'))],
      [0o600, 0o600, 0o700],
    );
    assert.match(made.stdout, /^start it with: svc start --config \S+worker\.yaml$/m);
  });

  test('overwrites only with --force, and keeps the key even then, since it identifies the node', async () => {
    assert.equal((await init('twice', '--role=controller', '--join-token=first')).code, 0);
    const key = await readFile(file('twice/node-key.pem'), 'utf8');
    const refused = await init('twice');
    assert.deepEqual(
      [refused.code, refused.stderr],
      [4, `svc: ${file('twice.yaml')} exists already; use --force to overwrite it\n`],
    );
    assert.equal(parse(await readFile(file('twice.yaml'), 'utf8')).spec.cluster.join_token, 'first');
    const forced = await init('twice', '--force', '--output=json');
    assert.deepEqual(JSON.parse(forced.stdout).newKey, false);
    assert.equal(await readFile(file('twice/node-key.pem'), 'utf8'), key);
    assert.equal(parse(await readFile(file('twice.yaml'), 'utf8')).spec.cluster.role, 'hybrid');
  });

  test('wrong options are exit code 2, and nothing is written', async () => {
    const cases: [string[], RegExp][] = [
      [['--role=boss'], /--role: expected controller, worker, hybrid, got boss/],
      [['--role=worker'], /--controllers: expected a controller of the worker/],
      [['--controllers=10.0.0.1'], /--controllers: expected host:port, got 10\.0\.0\.1/],
      [['--redis=redis://r'], /--redis and --mongodb: expected both or none/],
    ];
    for (const [args, says] of cases) {
      const { code, stderr } = await init('wrong', ...args);
      assert.equal(code, 2, args.join(' '));
      assert.match(stderr, says);
    }
    assert.deepEqual([existsSync(file('wrong.yaml')), existsSync(file('wrong'))], [false, false]);
  });
});

describe('svc node join', () => {
  const join = (name: string, controllers: string, ...args: string[]) => [
    ...['node', 'join', controllers, '--file', file(`${name}.yaml`), '--data', file(name)],
    ...args,
  ];

  test('prints which controllers answer and writes the configuration of a worker for all of them', async () => {
    using live = await listener();
    using refusing = await refusingPort();
    const dead = `127.0.0.1:${refusing.port}`;
    const joined = await svc(join('joiner', `${live.endpoint},${dead}`, '--tags=gpu'));
    assert.equal(joined.code, 0, joined.stderr);
    assert.ok(
      joined.stdout.startsWith(`${live.endpoint} answers\n${dead} does not answer: ECONNREFUSED\n`),
      joined.stdout,
    );
    const { cluster, node } = parse(await readFile(file('joiner.yaml'), 'utf8')).spec;
    assert.deepEqual([cluster.role, cluster.controller.endpoint], ['worker', [live.endpoint, dead]]);
    assert.deepEqual(node.tags, ['gpu']);
  });

  test('without a controller that answers it is exit code 5 and nothing is written', async () => {
    using refusing = await refusingPort();
    const dead = `127.0.0.1:${refusing.port}`;
    const refused = await svc(join('alone', dead));
    assert.equal(refused.code, 5);
    assert.match(
      refused.stderr,
      /no controller answers; nothing was written\n {2}127\.0\.0\.1:\d+ does not answer: ECONNREFUSED/,
    );
    assert.equal(existsSync(file('alone.yaml')), false);
    assert.equal((await svc(join('alone', dead, '--role=controller'))).code, 2);
  });

  test('--start starts the node as svc start does', async () => {
    using live = await listener();
    const env = { SVC_HTTP_PORT: '0', SVC_GRPC_PORT: '0', SVC_CLUSTER_PORT: '0', SVC_INTERNAL_PORT: '0' };
    const run = new SvcRun(join('started', live.endpoint, '--role=hybrid', '--start'), env);
    try {
      await waitUntil('the node says where REST is', () => /^REST\s+http/m.test(run.stdout));
      assert.match(run.stderr, /answers\nwrote \S+started\.yaml\nmade the node key/);
    } finally {
      run.child.kill('SIGTERM');
      await run.end();
    }
  });
});

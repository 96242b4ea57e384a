import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import { addSecretKey } from '../../app/secrets.ts';
import { type NodeSettings, resolveSettings } from '../../manifests/node/settings.ts';
import { startMongo, type TestMongo } from '../support/ferretdb.ts';
import { NodeProcess } from '../support/node-process.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { importsOf, projectFiles } from '../support/tree.ts';
import { waitUntil } from '../support/wait-until.ts';

const run = promisify(execFile);
const missing = serversMissing();
const words = z.array(z.string());

const Service = z.looseObject({
  image: z.string(),
  command: words.optional(),
  ports: words.default([]),
  volumes: words,
  environment: z.record(z.string(), z.string()).default({}),
  healthcheck: z.object({ test: words, interval: z.string(), timeout: z.string(), retries: z.number() }).loose(),
  restart: z.literal('unless-stopped'),
  stop_grace_period: z.literal('30s'),
});
const Node = Service.extend({
  network_mode: z.literal('host'),
  read_only: z.literal(true),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  depends_on: z.record(
    z.string(),
    z.object({ condition: z.enum(['service_healthy', 'service_completed_successfully']) }),
  ),
});
const Once = z.looseObject({
  entrypoint: words,
  volumes: words,
  network_mode: z.literal('none'),
  restart: z.literal('no'),
});
const Compose = z.object({
  services: z.strictObject({ redis: Service, mongo: Service, keys: Once, controller: Node, worker: Node }),
});

const { services } = Compose.loose().parse(parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }));
const containerfile = readFileSync('Containerfile', 'utf8');

/** The node configuration that a service mounts, with the service's environment laid over it. */
async function settingsOf({ volumes, environment }: z.infer<typeof Node>): Promise<NodeSettings> {
  const mounted = volumes.find((volume) => volume.endsWith(`:${environment.SVC_CONFIG}:ro`));
  const file = await readFile(mounted?.split(':')[0] ?? 'no mount', 'utf8');
  const resolved = resolveSettings({ flags: {}, env: environment, file });
  assert.ok(resolved.ok, JSON.stringify(resolved));
  return resolved.settings;
}

describe('docker-compose.yml', () => {
  test('accepts connections from this machine only', async () => {
    for (const { ports } of [services.redis, services.mongo]) {
      assert.ok(ports.length === 1 && ports.every((port) => port.startsWith('127.0.0.1:')), ports.join());
    }
    for (const node of [services.controller, services.worker]) {
      const { network, cluster } = await settingsOf(node);
      assert.deepEqual([network.bind, network.internal.bind, cluster.bind], ['127.0.0.1', '127.0.0.1', undefined]);
    }
  });

  test('runs Redis so that an acknowledged commit is on disk', () => {
    assert.match(services.redis.command?.join(' ') ?? '', /--appendonly yes --appendfsync always/);
    assert.match(services.redis.command?.join(' ') ?? '', /--maxmemory-policy noeviction/);
  });

  test('puts the controller on the ports of the specification, and a worker on free ones', async () => {
    const [controller, worker] = [await settingsOf(services.controller), await settingsOf(services.worker)];
    assert.deepEqual([controller.cluster.role, worker.cluster.role], ['controller', 'worker']);
    assert.deepEqual([controller.network.port, controller.network.grpc_port], [8080, 50_051]);
    assert.equal(controller.cluster.cluster_grpc_port, 50_056);
    const { network, cluster } = worker;
    const ports = [network.port, network.grpc_port, network.internal.port, network.internal.grpc_port];
    assert.deepEqual([...ports, cluster.cluster_grpc_port], [0, 0, 0, 0, 0]);
    assert.deepEqual(cluster.controller?.endpoint, ['127.0.0.1:50056']);
  });

  test('makes the key of secrets once, in a volume from which all nodes read it', async () => {
    const { keys, controller, worker } = services;
    assert.deepEqual(keys.volumes, ['keys:/keys']);
    assert.match(containerfile, /mkdir \/data \/keys && chown node:node \/data \/keys/);
    for (const node of [controller, worker]) {
      const { secrets } = await settingsOf(node);
      assert.ok(keys.entrypoint.join(' ').endsWith(`secret add-key ${secrets.keys?.file}`));
      assert.ok(node.volumes.includes('keys:/keys:ro'));
      assert.equal(node.depends_on.keys?.condition, 'service_completed_successfully');
    }
  });

  test('gives every replica of a worker a data directory of its own', async () => {
    const { stores } = await settingsOf(services.worker);
    assert.equal(stores.data_dir, '/data');
    assert.ok(services.worker.volumes.includes('/data'), 'a volume without a name is made for each container');
    assert.ok(!('container_name' in services.worker), 'a fixed name cannot be scaled');
    assert.deepEqual(services.worker.ports, []);
  });
});

describe('Containerfile', () => {
  test('runs svc start as a user that is not root, and hands it signals', () => {
    const last = containerfile.slice(containerfile.lastIndexOf('\nFROM '));
    assert.match(last, /^USER 1000:1000$/m);
    assert.match(last, /^ENTRYPOINT \["\/sbin\/tini", "--", "node", "\/svc\/cli\/svc\.ts"\]$/m);
    assert.match(last, /^CMD \["start"\]$/m);
    assert.match(containerfile, /npm ci --omit=dev/);
  });

  test('gets every file that a node imports, and no test, page or example', async () => {
    const rules = (await readFile('.dockerignore', 'utf8')).split('\n').filter((line) => /^[!*]/.test(line));
    const allowed = rules.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    assert.equal(rules[0], '*', 'nothing gets in but what is named');
    const isAllowed = (file: string) => allowed.some((one) => file === one || file.startsWith(`${one}/`));
    const reached = new Set(['cli/svc.ts']);
    for (const file of reached) for (const { to } of importsOf(file)) reached.add(to);
    assert.ok(reached.has('main.ts') && reached.has('cli/program.ts'), 'the walk goes through the product');
    assert.deepEqual(
      [...reached].filter((file) => !isAllowed(file)),
      [],
    );
    const strangers = projectFiles().filter((file) => isAllowed(file) && /^(test|docs|bench|examples)\//.test(file));
    assert.deepEqual(strangers, []);
  });
});

describe('nodes with the configurations of the compose file', { skip: missing || false }, () => {
  let redis: RedisServer;
  let mongo: TestMongo;
  let directory = '';
  before(async () => {
    [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
    directory = await mkdtemp(join(tmpdir(), 'svc-compose-'));
  });
  after(async () => {
    await Promise.all([redis.stop(), mongo.stop(), rm(directory, { recursive: true, force: true })]);
  });

  test('are a fleet whose workers are healthy by their own checks, and unhealthy once they are gone', async () => {
    const stores = { REDIS_URL: redis.url, MONGODB_URI: mongo.uri };
    await addSecretKey(join(directory, 'secret-keys.json'));
    const start = async (name: string, example: string, args: readonly string[]) => {
      const config = join(directory, `${name}.yaml`);
      await writeFile(config, (await readFile(example, 'utf8')).replaceAll('/keys/', `${directory}/`));
      const node = new NodeProcess(['--config', config, '--data', join(directory, name), ...args], stores);
      node.spawn();
      return node;
    };
    // The ports of this machine may be taken: the controller's are free ones here.
    const controller = await start('controller', 'examples/compose/controller.yaml', ['--cluster-port', '0']);
    const url = await controller.url;
    await waitUntil('the controller is ready', async () => (await fetch(`${url}/health/ready`)).status === 200);
    const names = ['worker-1', 'worker-2'];
    const workers = await Promise.all(names.map((name) => start(name, 'examples/compose/worker.yaml', [])));
    await Promise.all(workers.map((worker) => worker.url));
    const isHealthy = async (name: string): Promise<boolean> => {
      const [, program, ...args] = services.worker.healthcheck.test.map((word) =>
        word.replace("'/data/", `'${join(directory, name)}/`).replace('http://127.0.0.1:8080', url),
      );
      assert.equal(program, 'node');
      return run(process.execPath, args).then(
        () => true,
        () => false,
      );
    };
    try {
      await waitUntil('the first worker is healthy', () => isHealthy('worker-1'));
      await waitUntil('the second worker is healthy', () => isHealthy('worker-2'));
      await workers[0]?.stop();
      assert.equal(await isHealthy('worker-1'), false);
      assert.equal(await isHealthy('worker-2'), true);
    } finally {
      await Promise.all([controller, ...workers].map((node) => node.stop()));
    }
  });
});

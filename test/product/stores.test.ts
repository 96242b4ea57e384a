import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createServer } from 'node:tls';
import { Redis } from 'ioredis';
import { type Certificate, certificateIn } from '../support/certificates.ts';
import { startMongo, type TestMongo } from '../support/ferretdb.ts';
import { freePort } from '../support/free-port.ts';
import { NodeProcess } from '../support/node-process.ts';
import { startRedis } from '../support/redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startRedisSentinel } from '../support/redis-sentinel.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { sample, someOf } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, objectOf, ProductNode } from './product-node.ts';

const skip = serversMissing();
/** Minimum number of runs; more are started until both nodes run some. */
const RUNS = sample({ normal: 3, long: 24 });
const PASSWORD = 'p@ss:w/rd';
/**
 * docs/operations/operating-a-cluster.md, "Redis and MongoDB": all rights that a node needs, and none of a Redis
 * operator.
 */
const RIGHTS = ['~svc*', '~{svc*', '&svc*', '&{svc*', '+@all', '-@admin', '-@dangerous', '+info', '+config|get'];

interface Stores {
  readonly redis: string;
  readonly mongodb: string;
  readonly env?: NodeJS.ProcessEnv;
}

const startNode = ({ redis, mongodb, env = {} }: Stores): Promise<ProductNode> =>
  ProductNode.start({ spec: { kernel: { partitions: 32 }, stores: { redis, mongodb } }, env });

const statusOf = async (node: ProductNode): Promise<Readonly<Record<string, unknown>>> =>
  objectOf(JSON.stringify((await node.call('GET', '/v1/cluster/status')).body.node));
const holdsSome = async (node: ProductNode): Promise<boolean> =>
  Number(objectOf(JSON.stringify((await statusOf(node)).partitions)).default) > 0;
const runsSome = async (node: ProductNode): Promise<boolean> => Number((await statusOf(node)).running_effects) > 0;
const both = async (nodes: readonly ProductNode[], look: (node: ProductNode) => Promise<boolean>): Promise<boolean> =>
  (await Promise.all(nodes.map(look))).every(Boolean);

/** Two nodes on the stores run executions and their effects; one is killed in the middle, the other ends all of them. */
async function shareAndLoseNothing(stores: Stores): Promise<void> {
  await using dies = await startNode(stores);
  await using lives = await startNode(stores);
  const nodes = [dies, lives];
  await waitUntil('both nodes hold partitions', () => both(nodes, holdsSome), 60_000);
  const agent = await dies.deploy(agentYaml('talker'));
  const ids: string[] = [];
  // An effect runs where its execution is activated, which the id decides: starts one after the other until each node
  // has one.
  const startUntilBothRun = async (): Promise<boolean> => {
    if (ids.length >= RUNS && (await both(nodes, runsSome))) return true;
    ids.push(await (ids.length % 2 === 0 ? dies : lives).run(agent, 'slow'));
    return false;
  };
  await waitUntil('both nodes run effects', startUntilBothRun, 60_000);
  await dies.process.kill('SIGKILL');
  for (const id of ids) {
    const ended = await waitUntil(
      `execution ${id} to end`,
      async () => {
        const status = await lives.statusOf(id);
        return ['completed', 'failed', 'cancelled'].includes(String(status.status)) && status;
      },
      60_000,
    );
    assert.equal(ended.status, 'completed', JSON.stringify(ended));
  }
}

/** Each starts two to five nodes: a normal run makes a random half of them. */
const WAYS = someOf(['Sentinel', 'Cluster', 'Redis over TLS', 'MongoDB over TLS'], 4);

describe('stores of all kinds', { skip }, () => {
  let mongo: TestMongo;
  let directory = '';
  let certificate: Certificate;
  before(async () => {
    mongo = await startMongo();
    directory = await mkdtemp(join(tmpdir(), 'svc-stores-'));
    certificate = await certificateIn(directory, 'stores');
  });
  after(async () => {
    await Promise.all([mongo.stop(), rm(directory, { recursive: true, force: true })]);
  });

  if (WAYS.includes('Sentinel'))
    test('nodes share a Redis found through Sentinel, and lose nothing when one is killed', async (t) => {
      const sentinel = await startRedisSentinel();
      t.after(() => sentinel.stop());
      const redis = await asUser(sentinel.url, [sentinel.master.url, sentinel.replica.url]);
      await shareAndLoseNothing({ redis, mongodb: mongo.uri });
    });

  if (WAYS.includes('Cluster'))
    test('nodes share a Redis Cluster, and lose nothing when one is killed', async (t) => {
      const cluster = await startRedisCluster();
      t.after(() => cluster.stop());
      const servers = cluster.nodes.map(({ url }) => url);
      await shareAndLoseNothing({ redis: await asUser(cluster.url, servers), mongodb: mongo.uri });
      const used = await Promise.all(servers.map(keysOf));
      assert.ok(
        used.every((keys) => keys.length > 0),
        'every master has a share of the keys',
      );
      const jobs = used.flat().filter((key) => key.startsWith('svc-effects:'));
      assert.ok(jobs.length > 0, `there are queues of effects: ${used.flat().slice(0, 20).join(' ')}`);
      for (const key of jobs) assert.match(key, /^svc-effects:\{.+\}:/, 'the keys of one queue are in one slot');
    });

  if (WAYS.includes('Redis over TLS'))
    test('nodes reach Redis over TLS as a user with no more rights than documented', async (t) => {
      const tlsPort = await freePort();
      const { cert_path, key_path, ca_cert } = certificate;
      const tls = ['--tls-port', String(tlsPort), '--tls-auth-clients', 'no', '--tls-ca-cert-file', ca_cert];
      const files = ['--tls-cert-file', cert_path, '--tls-key-file', key_path];
      // A user without a password may see that the server is there, and nothing else.
      const users = ['--user', 'default', 'on', 'nopass', 'resetkeys', '-@all', '+ping'];
      const server = await startRedis({
        args: [...tls, ...files, ...users, '--user', 'svc', 'on', `>${PASSWORD}`, ...RIGHTS],
      });
      t.after(() => server.stop());
      const redis = `rediss://svc:${encodeURIComponent(PASSWORD)}@127.0.0.1:${tlsPort}`;
      const env = { NODE_EXTRA_CA_CERTS: ca_cert };
      await shareAndLoseNothing({ redis, mongodb: mongo.uri, env });

      const [unknown, denied] = await Promise.all([
        refusedStart({ redis, mongodb: mongo.uri }),
        refusedStart({ redis: redis.replace('svc:', 'svc:x'), mongodb: mongo.uri, env }),
      ]);
      assert.match(unknown, /self-signed certificate in certificate chain/);
      assert.match(denied, /WRONGPASS/);
      for (const said of [unknown, denied]) {
        assert.match(said, /^Redis cannot be reached\.$/m);
        assert.ok(!said.includes(PASSWORD) && !said.includes(encodeURIComponent(PASSWORD)), said);
      }
    });

  if (WAYS.includes('MongoDB over TLS'))
    test('nodes reach MongoDB over TLS with a certificate of their own; options of the URI reach the driver', async (t) => {
      const redis = await startRedis();
      t.after(() => redis.stop());
      const front = await tlsFront(mongo.uri, certificate);
      t.after(() => front.close());
      const client = join(directory, 'client.pem');
      await writePem(client, certificate);
      const base = `mongodb://127.0.0.1:${front.port}/?directConnection=true&tls=true`;
      const secured = `${base}&tlsCAFile=${encodeURIComponent(certificate.ca_cert)}`;
      const uri = `${secured}&tlsCertificateKeyFile=${encodeURIComponent(client)}`;
      await shareAndLoseNothing({ redis: redis.url, mongodb: uri });
      assert.ok(front.served() > 0, 'the nodes came over TLS');
      // No server of a replica set, an unknown authority, no certificate: the driver acts on each of the options.
      const wrong = [uri.replace('directConnection=true', 'replicaSet=rs0'), base, secured];
      const said = await Promise.all(wrong.map((mongodb) => refusedStart({ redis: redis.url, mongodb })));
      assert.deepEqual(said, Array(3).fill('the document store did not answer\n'));
    });
});

/** Error output of a node that cannot start on these stores; throws when it starts. */
async function refusedStart({ redis, mongodb, env = {} }: Stores): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-refused-'));
  const node = new NodeProcess(['--data', dataDir], { ...env, REDIS_URL: redis, MONGODB_URI: mongodb });
  try {
    node.spawn();
    await assert.rejects(node.url, /ended before it listened/);
    await waitUntil('the node to be gone', () => node.exitCode !== null);
    return node.log;
  } finally {
    await node.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** The URL with a user that the servers know and that has no more rights than documented. */
async function asUser(url: string, servers: readonly string[]): Promise<string> {
  for (const server of servers) {
    const client = new Redis(server);
    try {
      await client.call('ACL', 'SETUSER', 'svc', 'on', `>${PASSWORD}`, ...RIGHTS);
    } finally {
      client.disconnect();
    }
  }
  return url.replace('://', `://svc:${encodeURIComponent(PASSWORD)}@`);
}

async function keysOf(url: string): Promise<string[]> {
  const client = new Redis(url);
  try {
    return await client.keys('*');
  } finally {
    client.disconnect();
  }
}

async function writePem(path: string, { cert_path, key_path }: Certificate): Promise<void> {
  await writeFile(path, Buffer.concat([await readFile(key_path), await readFile(cert_path)]), { mode: 0o600 });
}

/**
 * TLS in front of the MongoDB-wire server, which has none; it requires a client certificate, as a strict server does.
 */
async function tlsFront(uri: string, { cert_path, key_path, ca_cert }: Certificate) {
  const target = new URL(uri.replace(/^mongodb/, 'http'));
  const [cert, key, ca] = await Promise.all([readFile(cert_path), readFile(key_path), readFile(ca_cert)]);
  let served = 0;
  const server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: true }, (client) => {
    served += 1;
    const upstream = connect(Number(target.port), target.hostname);
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.once('error', end).once('close', end);
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return { port: address.port, served: () => served, close: () => void server.close() };
}

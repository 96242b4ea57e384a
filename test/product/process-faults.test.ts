import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { startMongo } from '../support/ferretdb.ts';
import { startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, objectOf, ProductNode } from './product-node.ts';

const skip = serversMissing();
const PARTITIONS = 16;
/** Longer than a slow machine needs for a take-over that waits for no lease. */
const LEASE_MS = 120_000;
const preload = pathToFileURL(new URL('../support/raise-fault.ts', import.meta.url).pathname).href;
const raising = (kind: string) => ({ NODE_OPTIONS: `--import ${preload}`, SVC_TEST_FAULT: kind });

/** Log lines about a fault that no handler caught. */
const faultLines = (log: string): readonly Readonly<Record<string, unknown>>[] =>
  log
    .split('\n')
    .filter((line) => line.includes('"fault"'))
    .map(objectOf);

async function end(node: ProductNode): Promise<void> {
  process.kill(node.process.pid, 'SIGUSR2');
  await waitUntil('the node ends', () => node.process.exitCode !== null, 30_000);
}

describe('an error that no handler catches', { timeout: 300_000 }, () => {
  for (const [kind, name] of [
    ['rejection', 'unhandledRejection'],
    ['exception', 'uncaughtException'],
  ] as const) {
    test(`${name}: one line without secrets, an orderly stop with exit code 1, and everything continues after a start`, async () => {
      await using node = await ProductNode.start({ env: raising(kind) });
      const agent = await node.deploy(agentYaml('talker'));
      const running = await node.run(agent, 'steady');
      await end(node);
      assert.equal(node.process.exitCode, 1);
      const { log } = node.process;
      assert.doesNotMatch(log, /hunter2/);
      const [line, ...more] = faultLines(log);
      assert.deepEqual(more, []);
      assert.deepEqual([line?.fault, line?.level], [name, 60]);
      const { type, stack, cause } = objectOf(JSON.stringify(line?.error));
      assert.equal(type, 'Error');
      assert.match(JSON.stringify(stack), /raise-fault\.ts/);
      assert.equal(objectOf(JSON.stringify(cause)).type, 'TypeError');
      // The directory is free and the runs continue, so the stop was orderly.
      await node.spawn();
      await waitUntil('the execution completes', async () => (await node.statusOf(running)).status === 'completed');
    });
  }

  test('its partitions are handed over: another node has them before a lease could expire', {
    skip,
  }, async () => {
    const [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
    try {
      const stores = { redis: redis.url, mongodb: mongo.uri };
      const spec = { kernel: { partitions: PARTITIONS, lease_ttl_ms: LEASE_MS }, stores };
      await using first = await ProductNode.start({ spec, env: raising('rejection') });
      await using second = await ProductNode.start({ spec });
      const held = async (node: ProductNode): Promise<number> => {
        const { body } = await node.call('GET', '/v1/cluster/status');
        return Number(objectOf(JSON.stringify(objectOf(JSON.stringify(body.node)).partitions)).default);
      };
      await waitUntil('both hold some', async () => (await held(first)) > 0 && (await held(second)) > 0);
      await end(first);
      const holdsAll = async () => (await held(second)) === PARTITIONS;
      await waitUntil('the other to hold all, before a lease expires', holdsAll, LEASE_MS / 2);
      assert.equal(first.process.exitCode, 1);
    } finally {
      await Promise.all([redis.stop(), mongo.stop()]);
    }
  });
});

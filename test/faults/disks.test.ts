import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { agentYaml, ProductNode } from '../product/product-node.ts';
import { startMongo, type TestMongo } from '../support/ferretdb.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { limitedFiles, type SmallDisk, smallFileSystem } from '../support/small-disk.ts';
import { waitUntil } from '../support/wait-until.ts';

const skip = serversMissing();
const MANY = 6;

/** With Redis and MongoDB the data directory contains only the node's id, its keys and the workspaces of programs. */
describe('the data disk of a node with remote stores', { skip, timeout: 300_000 }, () => {
  let redis: RedisServer;
  let mongo: TestMongo;
  before(async () => {
    [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
  });
  after(() => Promise.all([redis?.stop(), mongo?.stop()]));

  test('is full: agents that only call models run, programs fail with a clear error, and all run again when there is space', async (context) => {
    const disk: SmallDisk | null = (await smallFileSystem()) ?? (await limitedFiles());
    if (disk === null) return context.diagnostic('no disk can be made full by this user');
    await using held = disk;
    const program = join(held.directory, 'program.sh');
    await writeFile(program, '#!/bin/sh\necho done\n');
    await chmod(program, 0o755);
    const stores = { redis: redis.url, mongodb: mongo.uri };
    const spec = { stores, kernel: { partitions: 16 } };
    await using node = await ProductNode.start({ spec, dataDir: join(held.directory, 'data') });
    const { pid } = node.process;
    const talker = await node.deploy(agentYaml('talker'));
    const programSpec = { runtime: { isolation: 'process' }, advanced: { bootstrap_path: program } };
    const runner = await node.deploy(agentYaml('runner', { ...programSpec, execution: { mode: 'one-shot' } }));
    const endOf = (id: string): Promise<string> =>
      waitUntil(
        `execution ${id} ends`,
        async () => {
          const { status } = await node.statusOf(id);
          return status !== 'running' && status !== 'pending' && String(status);
        },
        30_000,
      );
    assert.equal(await endOf(await node.run(runner, 'x')), 'completed');

    await held.fill(pid);
    const ids = await Promise.all(Array.from({ length: MANY }, () => node.run(talker, 'steady')));
    for (const id of ids) assert.equal(await endOf(id), 'completed');
    assert.equal((await node.call('GET', '/health/ready')).status, 200);
    const failing = await node.run(runner, 'x');
    // A file that a program needs may still fit on the disk.
    if ((await endOf(failing)) === 'failed') {
      const { last_error } = await node.statusOf(failing);
      assert.match(String(last_error), /^unavailable: this node cannot store the files of a program \(E[A-Z]+\)$/);
    }

    await held.free(pid);
    assert.equal(await endOf(await node.run(runner, 'x')), 'completed');
    assert.ok(!node.process.crashed, node.process.log);
    assert.equal(node.process.pid, pid);
  });
});

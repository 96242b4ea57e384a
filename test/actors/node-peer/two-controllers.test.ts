import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as pathJoin } from 'node:path';
import { test } from 'node:test';
import { nodeActors } from '../../../actors/node-peer/definition.ts';
import { openStores } from '../../../runtime/open-stores.ts';
import { connectClient, startRuntime } from '../../../runtime/runtime.ts';
import { startMongo } from '../../support/ferretdb.ts';
import { startRedis } from '../../support/redis.ts';
import { serversMissing } from '../../support/servers-missing.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { apiOver, beatOf, join, nodeKey, OPERATOR, signNonce } from './controller.ts';

const missing = serversMissing();
const SETTINGS = { partitions: 1, systemPartitions: 8, pollMs: 100 };
const CONFIG = 'apiVersion: svc.dev/v1\nkind: ManagedConfig\nspec: {runtime: {default_isolation: docker}}\n';
const warn = (message: string, error: unknown): void => console.error(message, error ?? '');

test('on Redis any controller goes on where another one stopped', { skip: missing ?? false }, async (t) => {
  const dataDir = await mkdtemp(pathJoin(tmpdir(), 'svc-two-controllers-'));
  const [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
  const open = (name: string) =>
    openStores({ dataDir: pathJoin(dataDir, name), redis: [redis.url], mongodb: mongo.uri, warn });
  const [served, called] = [await open('a'), await open('b')];
  const parts = { definitions: nodeActors(), settings: SETTINGS, warn };
  const runtime = await startRuntime({ ...served, ...parts, handlers: [], node: 'a' });
  const client = await connectClient({ ...called, ...parts });
  t.after(async () => {
    await runtime.stop();
    client.close();
    await Promise.all([served.close(), called.close()]);
    await Promise.all([redis.stop(), mongo.stop()]);
    await rm(dataDir, { recursive: true, force: true });
  });
  const [a, b] = [apiOver(runtime.client), apiOver(client)];

  const key = nodeKey();
  const { challengeId, challengeNonce } = await a.attest({ nodeId: 'w1', publicKeyPem: key.pem, role: 'WORKER' });
  const signature = signNonce(key, challengeNonce);
  assert.equal((await b.answerChallenge({ challengeId, signature })).nodeId, 'w1');
  await assert.rejects(a.answerChallenge({ challengeId, signature }), { code: 'unauthenticated' });

  // What one controller answered the other one reads, though peers and fleet live in different partitions.
  for (let n = 0; n < 10; n += 1) {
    await join(b, `own-${n}`, { tags: [`own-${n}`] });
    assert.equal((await a.route({ tags: [`own-${n}`] })).nodeId, `own-${n}`);
    assert.equal((await a.list()).length, n + 1);
  }
  const picked = [];
  for (let n = 0; n < 10; n += 1) picked.push((await (n % 2 === 0 ? a : b).route({})).nodeId);
  assert.equal(new Set(picked).size, 10);

  const { peerId } = await join(a, 'commanded');
  await b.drain('commanded', OPERATOR);
  const { config_hash } = await b.setConfig(CONFIG, OPERATOR);
  await waitUntil('both commands', async () => (await a.get('commanded')).pending_commands.length === 2);
  assert.deepEqual(await a.heartbeat('commanded', beatOf(peerId)), {
    commands: [{ command: 'drain' }, { command: 'sync_config', config_version: config_hash }],
  });
  assert.deepEqual(await b.heartbeat('commanded', beatOf(peerId)), { commands: [] });
});

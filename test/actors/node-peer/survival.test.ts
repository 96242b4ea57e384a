import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as pathJoin } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { nodeActors } from '../../../actors/node-peer/definition.ts';
import type { NodePeerApi } from '../../../usecases/node-api.ts';
import { startKernelNode } from '../../support/kernel-node.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { apiOver, beatOf, join, type NodeKey, nodeKey, OPERATOR, signNonce, startController } from './controller.ts';

const CONFIG = 'apiVersion: svc.dev/v1\nkind: ManagedConfig\nspec: {runtime: {default_isolation: docker}}\n';

async function directory(t: TestContext): Promise<string> {
  const path = await mkdtemp(pathJoin(tmpdir(), 'svc-node-peers-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

test('registry, commands, configuration, pinned keys and open challenges outlive the controller', async (t) => {
  const dataDir = await directory(t);
  const before = await startController(dataDir);
  const { peerId, key } = await join(before.peers, 'w1', { tags: ['gpu'] });
  const set = await before.peers.setConfig(CONFIG, OPERATOR);
  await before.peers.shutdown('w1', 'maintenance', OPERATOR);
  const open = await before.peers.attest({ nodeId: 'w2', publicKeyPem: key.pem, role: 'HYBRID' });
  await waitUntil(
    'both commands to be queued',
    async () => (await before.peers.get('w1')).pending_commands.length === 2,
  );
  const listed = await before.peers.list();
  await before.stop();

  const { peers, stop } = await startController(dataDir);
  try {
    assert.deepEqual(await peers.list(), listed);
    assert.equal((await peers.route({ tags: ['gpu'] })).nodeId, 'w1');
    assert.deepEqual(await peers.config(), set);
    const { commands } = await peers.heartbeat('w1', beatOf(peerId));
    assert.deepEqual(commands.map(({ command }) => command).sort(), ['shutdown', 'sync_config']);
    await assert.rejects(peers.attest({ nodeId: 'w1', publicKeyPem: nodeKey().pem, role: 'WORKER' }), {
      code: 'forbidden',
    });
    const signature = signNonce(key, open.challengeNonce);
    assert.equal((await peers.answerChallenge({ challengeId: open.challengeId, signature })).role, 'HYBRID');
    await assert.rejects(peers.answerChallenge({ challengeId: open.challengeId, signature }), {
      code: 'unauthenticated',
    });
  } finally {
    await stop();
  }
});

test('a node that is silent gets no work after two intervals, is unhealthy after three and back with a heartbeat', async (t) => {
  const { peers, stop } = await startController(await directory(t), { heartbeatIntervalMs: 600 });
  try {
    const { peerId } = await join(peers, 'silent');
    assert.equal((await peers.route({})).nodeId, 'silent');
    await waitUntil('routing to skip it', () => peers.route({}).then(() => false, isUnavailable));
    await waitUntil('it to be unhealthy', async () => (await peers.get('silent')).status === 'UNHEALTHY');
    assert.deepEqual((await peers.list('UNHEALTHY')).length, 1);
    await peers.heartbeat('silent', beatOf(peerId));
    assert.equal((await peers.route({})).nodeId, 'silent');
  } finally {
    await stop();
  }
});

const isUnavailable = (error: { code?: string }): boolean => {
  assert.equal(error.code, 'unavailable');
  return true;
};

test('a heartbeat whose answer is lost on its way still brings its commands, once', async () => {
  const node = await startKernelNode({
    definitions: nodeActors(),
    // Committed answers are not published: the client finds them in the record, as after a crash in between.
    store: () => ({ onReply: () => () => {} }),
  });
  try {
    const peers = apiOver(node.runtime.client);
    const { peerId } = await join(peers, 'w1');
    await peers.drain('w1', OPERATOR);
    assert.deepEqual(await peers.heartbeat('w1', beatOf(peerId)), { commands: [{ command: 'drain' }] });
    assert.deepEqual(await peers.heartbeat('w1', beatOf(peerId)), { commands: [] });
  } finally {
    await node.stop();
  }
});

test('4,000 unknown nodes attest at once: each correct answer is accepted, no wrong one is, and no data of them stays', async (t) => {
  const dataDir = await directory(t);
  const { peers, stores, runtime, stop } = await startController(dataDir, { challengeTtlMs: 15_000 });
  try {
    const keys = Array.from({ length: 16 }, nodeKey);
    const outcomes = await Promise.all(Array.from({ length: 4_000 }, (_, n) => attestation(peers, n, keys)));
    const count = (kind: Outcome): number => outcomes.filter((one) => one === kind).length;
    assert.deepEqual([count('proven'), count('refused'), count('left open')], [2_000, 1_000, 1_000]);
    await waitUntil('the store to be empty', () => leftIn(dataDir) === 0, 40_000);
    const archived = await stores.documents.collection({ name: 'archived_actors', unique: [], indexes: [] });
    assert.equal(await archived.count({ tenant: null }), 0);
    assert.equal(runtime.activations(), 0);
    assert.deepEqual(await peers.list(), []);
  } finally {
    await stop();
  }
});

type Outcome = 'proven' | 'refused' | 'left open';

/** Of four unknown nodes two answer correctly, one with another node's key, one not at all. */
async function attestation(peers: NodePeerApi, n: number, keys: readonly NodeKey[]): Promise<Outcome> {
  const [own, other] = [keys[n % keys.length], keys[(n + 1) % keys.length]];
  assert.ok(own !== undefined && other !== undefined);
  const nodeId = `stranger-${n}`;
  const { challengeId, challengeNonce } = await peers.attest({ nodeId, publicKeyPem: own.pem, role: 'WORKER' });
  if (n % 4 === 3) return 'left open';
  const signature = signNonce(n % 4 === 2 ? other : own, challengeNonce);
  const answer = peers.answerChallenge({ challengeId, signature });
  if (n % 4 === 2) {
    await assert.rejects(answer, { code: 'unauthenticated' });
    return 'refused';
  }
  assert.deepEqual(await answer, { nodeId, role: 'WORKER', publicKeyPem: own.pem });
  return 'proven';
}

/** Records, events and timers in the store's file. */
function leftIn(dataDir: string): number {
  const reader = new DatabaseSync(pathJoin(dataDir, 'actors.db'), { readOnly: true });
  try {
    const sum = 'SELECT (SELECT count(*) FROM actors) + (SELECT count(*) FROM events) + (SELECT count(*) FROM timers)';
    return Number(reader.prepare(`${sum} AS left`).get()?.left);
  } finally {
    reader.close();
  }
}

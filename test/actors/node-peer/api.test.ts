import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as pathJoin } from 'node:path';
import { after, before, test } from 'node:test';
import { peerAddress } from '../../../actors/node-peer/state.ts';
import type { NodePeerApi } from '../../../usecases/node-api.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { beatOf, join, NOTHING, nodeKey, OPERATOR, signNonce, startController } from './controller.ts';

let dataDir: string;
let controller: Awaited<ReturnType<typeof startController>>;
let peers: NodePeerApi;

before(async () => {
  dataDir = await mkdtemp(pathJoin(tmpdir(), 'svc-node-peers-'));
  controller = await startController(dataDir);
  peers = controller.peers;
});
after(async () => {
  await controller.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const ids = async (status?: 'ACTIVE' | 'DRAINING' | 'UNHEALTHY'): Promise<string[]> =>
  (await peers.list(status)).map(({ node_id }) => node_id);

test('a worker attests, registers, beats, is routed to, is drained and leaves', async () => {
  const { peerId, key } = await join(peers, 'life-1', { tags: ['life'] });
  assert.equal(await peers.isRegistered('life-1'), true);
  assert.deepEqual(await peers.route({ tags: ['life'] }), { nodeId: 'life-1', grpcAddress: 'life-1.example:50056' });
  assert.deepEqual(await peers.heartbeat('life-1', beatOf(peerId)), { commands: [] });
  const seen = await peers.get('life-1');
  assert.equal(seen.active_execution_count, 1);
  assert.match(seen.last_heartbeat_at, /^\d{4}-\d\d-\d\dT.*Z$/);

  await peers.drain('life-1', OPERATOR);
  assert.deepEqual(await ids('DRAINING'), ['life-1']);
  await assert.rejects(peers.route({ tags: ['life'] }), (error: { code: string }) =>
    ['unavailable', 'no_capable_worker'].includes(error.code),
  );
  assert.deepEqual((await peers.get('life-1')).pending_commands, [{ command: 'drain' }]);
  assert.deepEqual(await peers.heartbeat('life-1', beatOf(peerId)), { commands: [{ command: 'drain' }] });
  assert.deepEqual(await peers.heartbeat('life-1', beatOf(peerId)), { commands: [] });

  assert.deepEqual(await peers.deregister('life-1', 'graceful_shutdown', key.pem), { accepted: true });
  assert.deepEqual(await peers.deregister('life-1', 'graceful_shutdown'), { accepted: false });
  assert.equal((await ids()).includes('life-1'), false);
  await assert.rejects(peers.heartbeat('life-1', beatOf(peerId)), { code: 'failed_precondition' });
});

test('list and route include a node as soon as it is registered, and exclude it as soon as it left', async () => {
  for (let n = 0; n < 20; n += 1) {
    await join(peers, `own-${n}`, { tags: ['own'] });
    assert.equal((await peers.route({ tags: ['own'] })).nodeId, `own-${n}`);
    assert.ok((await ids()).includes(`own-${n}`));
    await peers.remove(`own-${n}`, OPERATOR);
    assert.equal((await ids()).includes(`own-${n}`), false);
  }
});

test('calls with one requirement rotate over all nodes that fit, whatever other callers ask meanwhile', async () => {
  for (const id of ['round-a', 'round-b']) await join(peers, id, { tags: ['round', 'even'] });
  await join(peers, 'round-c', { tags: ['round'] });
  const picked: Record<string, string[]> = { round: [], even: [] };
  for (let n = 0; n < 12; n += 1) {
    for (const tag of ['round', 'even']) picked[tag]?.push((await peers.route({ tags: [tag] })).nodeId);
  }
  const counts = (list: readonly string[] = []) =>
    Object.fromEntries([...new Set(list)].sort().map((id) => [id, list.filter((one) => one === id).length]));
  assert.deepEqual(counts(picked.round), { 'round-a': 4, 'round-b': 4, 'round-c': 4 });
  assert.deepEqual(counts(picked.even), { 'round-a': 6, 'round-b': 6 });
});

test('no capable worker: the details name what is missing', async () => {
  await join(peers, 'small', { tags: ['small'], vram_gb: 8 });
  await assert.rejects(peers.route({ tags: ['small'], vram_gb: 24 }), (error: { code: string; details: unknown }) => {
    assert.equal(error.code, 'no_capable_worker');
    assert.deepEqual(error.details, [{ path: 'vram_gb', message: 'vram_gb 24' }]);
    return true;
  });
});

test('a challenge is answered once, by its key, and never again', async () => {
  const key = nodeKey();
  const ask = { nodeId: 'stranger', publicKeyPem: key.pem, role: 'WORKER' as const };
  const { challengeId, challengeNonce } = await peers.attest(ask);
  assert.equal(Buffer.from(challengeNonce, 'base64url').length, 32);
  const signature = signNonce(key, challengeNonce);
  assert.equal((await peers.answerChallenge({ challengeId, signature })).nodeId, 'stranger');
  const refused = { code: 'unauthenticated' };
  await assert.rejects(peers.answerChallenge({ challengeId, signature }), refused);
  for (const bad of [new Uint8Array(), new Uint8Array(63), new Uint8Array(64), signNonce(nodeKey(), challengeNonce)]) {
    const next = await peers.attest(ask);
    await assert.rejects(peers.answerChallenge({ challengeId: next.challengeId, signature: bad }), refused);
    const right = signNonce(key, next.challengeNonce);
    await assert.rejects(peers.answerChallenge({ challengeId: next.challengeId, signature: right }), refused);
  }
  for (const unknown of ['', 'x', '../x', '7b1f9a40-0000-4000-8000-000000000000']) {
    await assert.rejects(peers.answerChallenge({ challengeId: unknown, signature }), refused);
  }
  assert.equal(await peers.isRegistered('stranger'), false);
  assert.equal(await controller.runtime.client.read(peerAddress('stranger')), null);
});

test('a known node id with another key is forbidden at each step, until it is removed', async () => {
  const { key } = await join(peers, 'pinned');
  const thief = nodeKey();
  const attest = (): Promise<unknown> => peers.attest({ nodeId: 'pinned', publicKeyPem: thief.pem, role: 'WORKER' });
  const forbidden = { code: 'forbidden' };
  await assert.rejects(attest(), forbidden);
  await assert.rejects(
    peers.register('pinned', { role: 'WORKER', capabilities: NOTHING, grpcAddress: 'a:1', publicKeyPem: thief.pem }),
    forbidden,
  );
  assert.equal(await peers.isRegistered('pinned', thief.pem), false);
  assert.equal(await peers.isRegistered('pinned', key.pem), true);
  assert.deepEqual(await peers.deregister('pinned', 'x', thief.pem), { accepted: false });
  await peers.attest({ nodeId: 'pinned', publicKeyPem: key.pem, role: 'WORKER' });
  await peers.remove('pinned', OPERATOR);
  await attest();
});

test('when two keys attest for a new id at the same time, only the one that registers first is accepted', async () => {
  const [a, b] = [nodeKey(), nodeKey()];
  const first = await peers.attest({ nodeId: 'race', publicKeyPem: a.pem, role: 'WORKER' });
  const second = await peers.attest({ nodeId: 'race', publicKeyPem: b.pem, role: 'WORKER' });
  await peers.answerChallenge({ challengeId: first.challengeId, signature: signNonce(a, first.challengeNonce) });
  await peers.register('race', { role: 'WORKER', capabilities: NOTHING, grpcAddress: 'a:1', publicKeyPem: a.pem });
  await assert.rejects(
    peers.answerChallenge({ challengeId: second.challengeId, signature: signNonce(b, second.challengeNonce) }),
    { code: 'forbidden' },
  );
});

test('bad input is refused with the name of its field', async () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const { pem, privateKey } = nodeKey();
  const secret = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const good = { nodeId: 'ok', publicKeyPem: pem, role: 'WORKER' as const };
  const bad = (field: string) => ({ code: 'invalid_argument', field });
  for (const nodeId of ['', '../x', 'a/b', 'x'.repeat(129), 'größe']) {
    await assert.rejects(peers.attest({ ...good, nodeId }), bad('node_id'));
    await assert.rejects(peers.get(nodeId), bad('node_id'));
  }
  const rsaPem = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  for (const publicKeyPem of ['', 'x', rsaPem, secret, `${pem}${'x'.repeat(1_000)}`]) {
    await assert.rejects(peers.attest({ ...good, publicKeyPem }), (error: Error & { code: string; field: string }) => {
      assert.deepEqual([error.code, error.field], ['invalid_argument', 'public_key_pem']);
      assert.doesNotMatch(error.message, /PRIVATE/);
      return true;
    });
  }
  await assert.rejects(peers.attest({ ...good, role: 'CONTROLLER' }), { code: 'forbidden', field: 'role' });
  const node = { role: 'WORKER' as const, capabilities: NOTHING, grpcAddress: 'a:1', publicKeyPem: pem };
  const withCapabilities = (more: object) => peers.register('ok', { ...node, capabilities: { ...NOTHING, ...more } });
  await assert.rejects(withCapabilities({ vram_gb: Number.NaN }), bad('capabilities.vram_gb'));
  await assert.rejects(withCapabilities({ gpu_count: -1 }), bad('capabilities.gpu_count'));
  await assert.rejects(withCapabilities({ tags: ['two words'] }), bad('capabilities.tags.0'));
  await assert.rejects(peers.register('ok', { ...node, grpcAddress: 'nowhere' }), bad('grpc_address'));
  await assert.rejects(peers.route({ cpu_cores: 0.5 }), bad('required.cpu_cores'));
  assert.equal(await peers.isRegistered('ok'), false);
});

test('a node that was never registered is not found, and the query creates nothing', async () => {
  const missing = { code: 'not_found' };
  await assert.rejects(peers.get('nobody'), missing);
  await assert.rejects(peers.drain('nobody', OPERATOR), missing);
  await assert.rejects(peers.shutdown('nobody', 'x', OPERATOR), missing);
  await assert.rejects(peers.remove('nobody', OPERATOR), missing);
  await assert.rejects(peers.heartbeat('nobody', beatOf('x')), { code: 'failed_precondition' });
  assert.deepEqual(await peers.deregister('nobody', 'x'), { accepted: false });
  assert.equal(await peers.isRegistered('nobody'), false);
  assert.equal(await controller.runtime.client.read(peerAddress('nobody')), null);
});

test('a configuration reaches every node with its heartbeat, once', async () => {
  const { peerId } = await join(peers, 'configured');
  const text = 'apiVersion: svc.dev/v1\nkind: ManagedConfig\nspec: {observability: {logging: {level: debug}}}\n';
  const { config_yaml, config_hash, version } = await peers.setConfig(text, OPERATOR);
  assert.equal(config_yaml, `# version ${version}\n${text}`);
  assert.deepEqual(await peers.config(), { config_yaml, config_hash, version });
  await waitUntil('the command to be queued', async () => (await peers.get('configured')).pending_commands.length > 0);
  assert.deepEqual(await peers.heartbeat('configured', beatOf(peerId)), {
    commands: [{ command: 'sync_config', config_version: config_hash }],
  });
  assert.deepEqual(await peers.heartbeat('configured', beatOf(peerId)), { commands: [] });
  await assert.rejects(peers.setConfig('spec: {network: {}}', OPERATOR), { code: 'invalid_manifest' });
  assert.equal((await peers.config()).config_hash, config_hash);
  assert.ok((await peers.setConfig(text, OPERATOR)).version > version, 'each text has a later version');
});

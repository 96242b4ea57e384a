import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { svc } from '../cli/svc-run.ts';
import { RegisteredNode } from '../cluster/registered-node.ts';
import { NodeProcess } from '../support/node-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { IndependentWorker } from '../transport/cluster/independent-worker.ts';
import { PageClient } from '../transport/cluster/page.ts';

const HERE = { 'svc-node-grpc-address': '127.0.0.1:50056' };

const managed = (level: string): string =>
  `apiVersion: svc.dev/v1\nkind: ManagedConfig\nspec: {observability: {logging: {level: ${level}}}}\n`;

describe('a controller that requires join tokens', { timeout: 300_000 }, () => {
  let directory = '';
  let node: NodeProcess;
  let url = '';
  let cluster = '';
  const at = (name: string): string => join(directory, name);
  const cli = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await svc([...args, '--url', url]);
    assert.equal(code, 0, stderr);
    return stdout.trim();
  };
  const tokens = async (): Promise<Record<string, unknown>[]> =>
    JSON.parse(await cli('node', 'token', 'list', '--output', 'json'));
  const start = async (): Promise<void> => {
    node.spawn();
    url = await node.url;
    cluster = await node.clusterAddress;
  };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-trust-'));
    const settings = '{enabled: true, role: hybrid, require_join_token: true, heartbeat_interval_secs: 1}';
    const yaml = `apiVersion: svc.dev/v1\nkind: NodeConfig\nspec: {node: {id: own}, cluster: ${settings}}\n`;
    await writeFile(at('svc.yaml'), yaml);
    const ports = ['--cluster-port', '0', '--internal-port', '0', '--internal-grpc-port', '0'];
    node = new NodeProcess(['--data', at('data'), '--config', at('svc.yaml'), ...ports]);
    await start();
  });
  after(async () => {
    await node.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('is itself a node without a token', async () => {
    const own = await waitUntil('its own registration', async () => {
      const { nodes } = JSON.parse(await (await fetch(`${url}/v1/cluster/nodes`)).text());
      return nodes.find((one: Record<string, unknown>) => one.node_id === 'own' && one.registered === true);
    });
    assert.equal(own.status, 'ACTIVE');
  });

  test('accepts nodes with a token of svc node token create, and shows which node joined with which', async () => {
    const token = await cli('node', 'token', 'create', '--name', 'worker-1', '--tag', 'gpu');
    assert.match(token, /^svcj_[A-Za-z0-9_-]{43}$/);
    await using worker = new RegisteredNode([cluster], {
      ...{ nodeId: 'worker-1', joinToken: async () => token, grpcAddress: '127.0.0.1:50056' },
    });
    await waitUntil('a heartbeat', () => worker.registration.state().phase === 'registered');
    await using thief = new RegisteredNode([cluster], { nodeId: 'worker-2', joinToken: async () => token });
    await waitUntil('the refusal', () => thief.registration.state().phase === 'refused');
    const [shown] = await tokens();
    assert.deepEqual([shown?.status, shown?.refusals], ['used_up', 1]);
    assert.match(JSON.stringify(shown?.used_by), /"node_id":"worker-1","from":"127.0.0.1"/);
    for (const event of ['JoinTokenCreated', 'JoinTokenUsed', 'JoinTokenRefused'])
      await waitUntil(`${event} is in the log`, () => node.log.includes(event));
    assert.ok(!node.log.includes(token) && !JSON.stringify(await tokens()).includes(token));
    assert.match(await cli('node', 'token', 'revoke', String(shown?.id)), /^revoked join token /);
    assert.equal((await tokens())[0]?.status, 'revoked');
  });

  test('remembers over a restart which nodes send proofs, and refuses such a node without one', async () => {
    const token = await cli('node', 'token', 'create', '--uses', '2', '--tag', 'gpu');
    const shown = { 'svc-join-token': token };
    const client = new PageClient(cluster);
    const old = new IndependentWorker('old', client);
    await old.prove({}, shown);
    assert.equal((await old.register({}, HERE)).code, 'OK');
    {
      await using proven = new RegisteredNode([cluster], {
        ...{ nodeId: 'proven', key: old, joinToken: async () => token, grpcAddress: '127.0.0.1:50056' },
      });
      await waitUntil('a heartbeat', () => proven.registration.state().phase === 'registered');
    }
    client.close();
    await node.kill();
    await start();
    const again = new PageClient(cluster);
    const bare = Object.assign(new IndependentWorker('proven', again), {
      privateKey: old.privateKey,
      publicKeyPem: old.publicKeyPem,
    });
    await bare.prove();
    const answer = await bare.register({}, HERE);
    assert.deepEqual(
      [answer.code, answer.metadata.at(-1)?.get('svc-error-reason')[0]],
      ['UNAUTHENTICATED', 'proof_required'],
    );
    const still = Object.assign(new IndependentWorker('old', again), { token: old.token, privateKey: old.privateKey });
    assert.equal((await still.register({}, HERE)).code, 'OK');
    again.close();
  });

  test('pushes configurations with growing versions, and keeps the version with the text', async () => {
    for (const level of ['debug', 'warn']) {
      await writeFile(at('managed.yaml'), managed(level));
      await cli('node', 'config', 'set', at('managed.yaml'));
      const { nodes: answers } = JSON.parse(
        await (await fetch(`${url}/v1/cluster/config/push`, { method: 'POST' })).text(),
      );
      const own = answers.find((one: Record<string, unknown>) => one.node_id === 'own');
      assert.equal(own.accepted, true, JSON.stringify(answers));
    }
    const { version } = JSON.parse(await (await fetch(`${url}/v1/cluster/config`)).text());
    assert.equal(await readFile(at('data/managed-config.yaml'), 'utf8'), `# version ${version}\n${managed('warn')}`);
  });
});

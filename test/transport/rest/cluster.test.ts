import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createManagedProviders } from '../../../usecases/managed-providers.ts';
import { FakeChaos, FakeCluster, FakePeers } from './fake-fleet.ts';
import { namedUsers, type RestServerOptions, restServer } from './rest-server.ts';

const NO_RUNS = { list: async () => ({ runs: [] }) };

const fleet = (options: RestServerOptions = {}) => {
  const cluster = new FakeCluster();
  const peers = new FakePeers();
  return {
    cluster,
    peers,
    open: () => restServer({ cluster, peers, chaos: new FakeChaos(), runs: NO_RUNS, ...options }),
  };
};
const MANAGED = 'apiVersion: svc.dev/v1\nkind: ManagedConfig\nspec: { observability: { logging: { level: debug } } }\n';
const yaml = (body: string): RequestInit => ({ body, headers: { 'content-type': 'application/yaml' } });

describe('the fleet over REST', () => {
  it('status: this node, nodes by status, pools with the partitions that no node serves', async () => {
    await using at = await fleet().open();
    const { status, body } = await at.call('GET', '/v1/cluster/status');
    assert.equal(status, 200);
    assert.deepEqual(
      [body.node.node_id, body.node.partitions, body.node.lease_age_ms, body.chaos],
      ['alpha', { default: 32 }, 12.5, true],
    );
    assert.deepEqual(body.nodes, { ACTIVE: 1, DRAINING: 1, UNHEALTHY: 1 });
    assert.deepEqual(body.pools[1], {
      pool: '+tpu',
      tags: ['tpu'],
      partitions: 64,
      served: 0,
      waiting_for: { tags: ['tpu'], reason: 'waiting for a node with tags tpu' },
    });
  });

  it('nodes: members joined with registered peers, by status and by tag', async () => {
    await using at = await fleet().open();
    const ids = async (query = '') =>
      (await at.call('GET', `/v1/cluster/nodes${query}`)).body.nodes.map((node: { node_id: string }) => node.node_id);
    assert.deepEqual(await ids(), ['alpha', 'beta', 'stranger']);
    assert.deepEqual(await ids('?status=DRAINING'), ['beta']);
    assert.deepEqual(await ids('?tag=gpu'), ['beta', 'stranger']);
    assert.deepEqual(await ids('?tag=gpu&status=UNHEALTHY'), ['stranger']);
    assert.equal((await at.call('GET', '/v1/cluster/nodes?status=asleep')).status, 400);
    const { body } = await at.call('GET', '/v1/cluster/nodes/beta');
    assert.deepEqual(
      [body.member, body.registered, body.role, body.version, body.started_at, body.grpc_address, body.partitions],
      [true, true, 'WORKER', '0.1.0', '2026-01-02T00:00:00.000Z', 'beta:50056', { default: 32 }],
    );
    assert.equal(body.capabilities.vram_gb, 24);
    const stranger = (await at.call('GET', '/v1/cluster/nodes/stranger')).body;
    assert.deepEqual(
      [stranger.member, stranger.registered, stranger.version, stranger.last_heartbeat_at],
      [false, true, null, '2026-01-02T00:00:30.000Z'],
    );
    const unknown = await at.call('GET', '/v1/cluster/nodes/nobody');
    assert.deepEqual([unknown.status, unknown.body.error], [404, 'not_found']);
    assert.equal((await at.call('GET', '/v1/cluster/nodes/a%2Fb')).status, 400);
  });

  it('a plan reads nodes that leave and join from the query, and refuses others naming the field', async () => {
    const { cluster, open } = fleet();
    await using at = await open();
    const query = '?without=alpha&without=beta&join=tags%3Dgpu,a100,count%3D2&join=role%3Dhybrid,weight%3D0.5';
    const planned = await at.call('GET', `/v1/cluster/plan${query}`);
    assert.deepEqual(
      [planned.status, planned.body.waiting_runs],
      [200, { count: 0, complete: true, runs: [] }],
      JSON.stringify(planned.body),
    );
    assert.deepEqual(cluster.planned, {
      without: ['alpha', 'beta'],
      join: [
        { tags: ['gpu', 'a100'], count: 2, role: 'worker', weight: 1 },
        { tags: [], count: 1, role: 'hybrid', weight: 0.5 },
      ],
    });
    for (const wrong of ['count=0', 'count=1001', 'role=boss', 'colour=red', 'tags=<b>', 'count=1,count=2']) {
      const { status, body } = await at.call('GET', `/v1/cluster/plan?join=${encodeURIComponent(wrong)}`);
      assert.deepEqual([status, body.field?.startsWith('join') ?? body.message.includes('join')], [400, true], wrong);
    }
    const { body } = await at.call('GET', '/v1/cluster/partitions');
    assert.deepEqual(body.partitions[0].actors, 2);
  });

  it('drain reaches a member through the store, and a peer that is none by command', async () => {
    const { cluster, peers, open } = fleet();
    await using at = await open();
    for (const id of ['alpha', 'beta', 'stranger']) {
      const drained = await at.call('POST', `/v1/cluster/nodes/${id}/drain`);
      assert.deepEqual([drained.status, drained.body], [200, { node_id: id, draining: true }]);
    }
    assert.deepEqual(cluster.done, ['drain alpha', 'drain beta']);
    assert.deepEqual(peers.done, ['drain stranger by local-operator']);
    assert.equal((await at.call('POST', '/v1/cluster/nodes/nobody/drain')).status, 404);
  });

  it('shutdown carries its reason', async () => {
    const { cluster, peers, open } = fleet();
    await using at = await open();
    assert.equal((await at.call('POST', '/v1/cluster/nodes/alpha/shutdown')).status, 200);
    const told = await at.postJson('/v1/cluster/nodes/stranger/shutdown', { reason: 'new disk' });
    assert.deepEqual(told.body, { node_id: 'stranger', shutting_down: true });
    assert.deepEqual(cluster.done, ['shut down alpha: asked for by an operator']);
    assert.deepEqual(peers.done, ['shut down stranger by local-operator: new disk']);
    const long = await at.postJson('/v1/cluster/nodes/stranger/shutdown', { reason: 'x'.repeat(501) });
    assert.equal(long.status, 400);
  });

  it('a live node cannot be removed, one that is gone can', async () => {
    const { peers, open } = fleet();
    await using at = await open();
    const refused = await at.call('DELETE', '/v1/cluster/nodes/beta');
    assert.deepEqual([refused.status, refused.body.error], [409, 'failed_precondition']);
    const removed = await at.call('DELETE', '/v1/cluster/nodes/stranger');
    assert.deepEqual(removed.body, { node_id: 'stranger', removed: true });
    assert.deepEqual(peers.done, ['remove stranger by local-operator']);
    assert.equal((await at.call('DELETE', '/v1/cluster/nodes/stranger')).status, 404);
  });

  it('configuration is checked before it is set, as YAML or in JSON, and pushed with an answer of each node', async () => {
    const { cluster, open } = fleet();
    await using at = await open();
    const set = await at.call('PUT', '/v1/cluster/config', yaml(MANAGED));
    assert.equal(set.status, 200, set.text);
    assert.equal(set.body.config_yaml, MANAGED);
    assert.deepEqual((await at.call('GET', '/v1/cluster/config')).body, set.body);
    const json = await at.call('PUT', '/v1/cluster/config', {
      body: JSON.stringify({ config_yaml: MANAGED }),
      headers: { 'content-type': 'application/json' },
    });
    assert.deepEqual(json.body, set.body);
    const wrong = await at.call('PUT', '/v1/cluster/config', yaml(MANAGED.replace('debug', 'loud')));
    assert.deepEqual([wrong.status, wrong.body.error], [422, 'validation_failed']);
    assert.equal(wrong.body.details[0].path, 'spec.observability.logging.level');
    assert.equal(wrong.body.details[0].line, 3);
    assert.deepEqual((await at.call('GET', '/v1/cluster/config')).body, set.body, 'what was wrong is not kept');
    for (const body of ['', '{}', '[]']) {
      const type = { 'content-type': 'application/json' };
      assert.equal((await at.call('PUT', '/v1/cluster/config', { body, headers: type })).status, 400, body);
    }
    cluster.pushed = [{ node_id: 'beta', accepted: false, reason: 'unknown key' }];
    const pushed = await at.call('POST', '/v1/cluster/config/push');
    assert.deepEqual(pushed.body, { nodes: [{ node_id: 'beta', accepted: false, reason: 'unknown key' }] });
  });

  it('a node without these parts has no such paths; without peers it shows its members', async () => {
    await using none = await restServer();
    for (const path of ['/v1/cluster/status', '/v1/cluster/nodes', '/v1/cluster/config', '/v1/chaos/faults']) {
      assert.equal((await none.call('GET', path)).status, 404, path);
    }
    await using members = await restServer({ cluster: new FakeCluster() });
    assert.equal((await members.call('GET', '/v1/cluster/nodes')).body.nodes.length, 2);
    assert.equal((await members.call('POST', '/v1/cluster/nodes/alpha/drain')).status, 200);
    assert.equal((await members.call('GET', '/v1/cluster/config')).status, 404);
    assert.equal((await members.call('GET', '/v1/cluster/status')).body.chaos, false);
  });
});

const ROUTES: [method: string, path: string, allowed: string[]][] = [
  ['GET', '/v1/cluster/status', ['reader', 'operator', 'admin']],
  ['GET', '/v1/cluster/plan', ['reader', 'operator', 'admin']],
  ['GET', '/v1/cluster/takeovers', ['reader', 'operator', 'admin']],
  ['GET', '/v1/cluster/partitions', ['reader', 'operator', 'admin']],
  ['GET', '/v1/cluster/nodes', ['reader', 'operator', 'admin']],
  ['GET', '/v1/cluster/nodes/alpha', ['reader', 'operator', 'admin']],
  ['POST', '/v1/cluster/nodes/alpha/drain', ['operator', 'admin']],
  ['POST', '/v1/cluster/nodes/alpha/shutdown', ['operator', 'admin']],
  ['DELETE', '/v1/cluster/nodes/alpha', ['operator', 'admin']],
  ['GET', '/v1/cluster/config', ['reader', 'operator', 'admin']],
  ['PUT', '/v1/cluster/config', ['operator', 'admin']],
  ['POST', '/v1/cluster/config/push', ['operator', 'admin']],
  ['GET', '/v1/chaos/faults', ['admin']],
  ['POST', '/v1/chaos/faults', ['admin']],
];

describe('roles that may see the fleet and act on it', () => {
  it('operators alone, each role exactly its routes; no tenant, consumer or service account', async () => {
    await using at = await fleet({ authenticator: namedUsers }).open();
    for (const [method, path, allowed] of ROUTES) {
      assert.equal((await at.call(method, path)).status, 401, `${method} ${path}`);
      for (const user of ['reader', 'operator', 'admin', 'client', 'consumer', 'alice']) {
        const { status } = await at.call(method, path, { headers: { authorization: `Bearer ${user}` } });
        assert.equal(status !== 403, allowed.includes(user), `${user} ${method} ${path}: ${status}`);
      }
    }
  });

  it('the table above names every route of the fleet in the description', async () => {
    await using at = await fleet({ authenticator: namedUsers }).open();
    const { paths } = (await at.call('GET', '/v1/openapi.json')).body;
    const described = Object.entries<object>(paths)
      .filter(([path]) => /^\/v1\/(cluster|chaos)/.test(path))
      .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`));
    const tested = ROUTES.map(([method, path]) => `${method} ${path.replace('alpha', '{id}')}`);
    assert.deepEqual(described.sort(), tested.sort());
  });
});

describe('faults over REST', () => {
  it('a fault is answered as recorded, listed and counted', async () => {
    await using at = await fleet().open();
    const address = 'execution/acme/one';
    const done = await at.postJson('/v1/chaos/faults', { kind: 'kill-actor', address });
    assert.deepEqual([done.status, done.body.state, done.body.target], [200, 'done', address]);
    await at.postJson('/v1/chaos/faults', { kind: 'freeze-node', node: 'beta', ms: 100 });
    const { body } = await at.call('GET', '/v1/chaos/faults?limit=1');
    assert.deepEqual(body.counts, { 'kill-actor': 1, 'kill-owner': 0, 'kill-node': 0, 'freeze-node': 1 });
    assert.deepEqual([body.faults.length, body.faults[0].ms], [1, 100]);
    const fenced = await at.postJson('/v1/chaos/faults', { kind: 'kill-actor', address: 'execution/globex/one' });
    assert.deepEqual([fenced.status, fenced.body.error], [403, 'forbidden']);
  });

  const wrong: object[] = [
    {},
    { kind: 'burn-node', node: 'beta' },
    { kind: 'kill-actor' },
    { kind: 'kill-actor', node: 'beta' },
    { kind: 'kill-actor', address: 'execution/acme' },
    { kind: 'kill-owner', address: 'execution/acme/../x' },
    { kind: 'kill-node', node: 'a/b' },
    { kind: 'freeze-node', node: 'beta' },
    { kind: 'freeze-node', node: 'beta', ms: 60_001 },
    { kind: 'kill-node', node: 'beta', ms: 5 },
  ];
  it('an invalid request is 400 and does nothing', async () => {
    await using at = await fleet().open();
    for (const body of wrong) {
      assert.equal((await at.postJson('/v1/chaos/faults', body)).status, 400, JSON.stringify(body));
    }
    assert.deepEqual((await at.call('GET', '/v1/chaos/faults')).body.faults, []);
  });
});

describe('an execution that waits for tags', () => {
  it('says what it waits for', async () => {
    await using at = await restServer();
    const id = await at.startRun();
    assert.equal((await at.call('GET', `/v1/executions/${id}`)).body.waiting_for, undefined);
    const waiting_for = { kind: 'node' as const, tags: ['gpu'], reason: 'waiting for a node with tags gpu' };
    at.executions.waits = waiting_for;
    assert.deepEqual((await at.call('GET', `/v1/executions/${id}`)).body.waiting_for, waiting_for);
    assert.deepEqual((await at.call('GET', '/v1/executions')).body.executions[0].waiting_for, waiting_for);
  });
});

describe('providers of models for all nodes', () => {
  const OLLAMA = { type: 'ollama', models: [{ alias: 'smart', model: 'big' }] };
  const withProviders = (isManaged = true) => {
    const { cluster, peers } = fleet();
    cluster.pushed = [{ node_id: 'alpha', accepted: true, reason: null }];
    const providers = createManagedProviders({ peers, push: () => cluster.pushConfig(), isManaged });
    return { peers, open: () => restServer({ cluster, peers, providers, authenticator: namedUsers }) };
  };
  const as = (user: string, body?: unknown): RequestInit => ({
    headers: { authorization: `Bearer ${user}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

  it('operators and administrators of the installation alone change and see them', async () => {
    await using at = await withProviders().open();
    for (const user of ['reader', 'roleless', 'client', 'consumer', 'alice']) {
      const put = await at.call('PUT', '/v1/cluster/providers/fleet', as(user, OLLAMA));
      const removed = await at.call('DELETE', '/v1/cluster/providers/fleet', as(user));
      assert.deepEqual([put.status, removed.status], [403, 403], user);
    }
    for (const user of ['operator', 'admin']) {
      const put = await at.call('PUT', '/v1/cluster/providers/fleet', as(user, OLLAMA));
      assert.deepEqual([put.status, put.body.nodes], [200, [{ node_id: 'alpha', accepted: true, reason: null }]], user);
      assert.equal((await at.call('GET', '/v1/cluster/providers', as(user))).body.providers[0].name, 'fleet');
    }
  });

  it('all else in the configuration stays, and another operator’s change at the same time is not lost', async () => {
    const { peers, open } = withProviders();
    await using at = await open();
    await peers.setConfig(`# ours\n${MANAGED}`);
    peers.between = `# theirs\n${MANAGED.replace('debug', 'warn')}`;
    assert.equal((await at.call('PUT', '/v1/cluster/providers/fleet', as('operator', OLLAMA))).status, 200);
    const { config_yaml } = await peers.config();
    assert.match(config_yaml, /^# theirs\n/);
    assert.match(config_yaml, /level: warn/);
    assert.match(config_yaml, /name: fleet/);
    assert.equal((await at.call('DELETE', '/v1/cluster/providers/fleet', as('operator'))).status, 200);
    assert.doesNotMatch((await peers.config()).config_yaml, /llm_providers/);
  });

  it('a node without the cluster protocol refuses, naming the setting', async () => {
    await using at = await withProviders(false).open();
    const { status, body } = await at.call('PUT', '/v1/cluster/providers/fleet', as('operator', OLLAMA));
    assert.deepEqual([status, body.error], [409, 'failed_precondition']);
    assert.match(body.message, /spec\.cluster\.enabled/);
  });
});

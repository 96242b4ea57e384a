import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { addMetrics } from '../../../transport/internal/metrics.ts';
import { NodeMetrics } from '../../../transport/internal/node-metrics.ts';
import { createInternalServer } from '../../../transport/internal/server.ts';
import type { LocalNode } from '../../../usecases/ports/cluster.ts';
import type { AdmissionCounts } from '../../../usecases/starts/admission.ts';
import { ScriptedLoop } from '../../effects/agents/bootstrap-places.ts';
import { NodeProcess } from '../../support/node-process.ts';

const NODE: LocalNode = {
  ...{ node_id: 'node-a', incarnation: '00000000-0000-4000-8000-000000000001', role: 'worker', tags: ['gpu'] },
  ...{ ready: true, draining: false, partitions: { default: 3, system: 1 }, residents: 7, unread_partitions: 0 },
  ...{ postponed_messages: 4, fenced_commits: 2, running_effects: 4, lease_age_ms: 1_500 },
};

/** Reads the samples of a page, `name{labels}` to value. */
function samplesOf(page: string): Map<string, number> {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

describe('/metrics of the internal address', () => {
  it('answers the current metrics of the node, and figures of its process', async () => {
    let node = NODE;
    let starts: AdmissionCounts = { inFlight: 5, limit: 600, refused: 9 };
    const metrics = new NodeMetrics();
    const unfinished = [{ kind: 'workflow', wait_reason: 'approval', count: 3 }];
    const looked = { mailbox: { messages: 12, oldestSeconds: 2.5 }, unfinished };
    const app = createInternalServer({
      dispatch: new ScriptedLoop([]),
      tokens: { issue: async () => '', verify: () => Promise.reject(new Error('no token is asked for')) },
      logger: pino({ level: 'silent' }),
      addRoutes: (scope) =>
        addMetrics(scope, { metrics, local: () => node, admission: () => starts, lookedUp: () => looked }),
    });
    try {
      const page = async (): Promise<Map<string, number>> => {
        const answer = await app.inject('/metrics');
        assert.equal(answer.statusCode, 200, answer.body);
        assert.match(String(answer.headers['content-type']), /^text\/plain; version=0\.0\.4/);
        return samplesOf(answer.body);
      };
      const first = await page();
      const wanted = {
        'svc_node_info{node="node-a",role="worker"}': 1,
        svc_node_ready: 1,
        svc_node_draining: 0,
        svc_node_lease_age_seconds: 1.5,
        'svc_partitions_held{pool="default"}': 3,
        'svc_partitions_held{pool="system"}': 1,
        svc_partitions_unread: 0,
        svc_messages_postponed: 4,
        svc_actors_resident: 7,
        svc_effects_running: 4,
        svc_commits_fenced_total: 2,
        svc_starts_in_flight: 5,
        svc_starts_limit: 600,
        svc_starts_refused_total: 9,
        svc_mailbox_messages: 12,
        svc_mailbox_oldest_seconds: 2.5,
        'svc_runs_unfinished{kind="workflow",wait_reason="approval"}': 3,
      };
      for (const [name, value] of Object.entries(wanted)) assert.equal(first.get(name), value, name);
      assert.ok((first.get('process_resident_memory_bytes') ?? 0) > 1e6);
      node = { ...NODE, ready: false, unread_partitions: 2, partitions: { system: 1 } };
      starts = { inFlight: 16, limit: 16, refused: 12 };
      const second = await page();
      assert.deepEqual([second.get('svc_partitions_unread'), second.get('svc_node_ready')], [2, 0]);
      assert.equal(second.has('svc_partitions_held{pool="default"}'), false, 'a pool that it left is not named');
      assert.equal(second.get('svc_starts_refused_total'), 12);
    } finally {
      await app.close();
    }
  });

  it('has histograms whose buckets count what was at most that long, and bounds the kinds of actors', async () => {
    const metrics = new NodeMetrics();
    for (const ms of [0.1, 0.3, 40, 90_000]) metrics.delivered('execution', 'done', ms, ms);
    for (let n = 0; n < 100; n += 1) metrics.effectEnded(`kind-${n}`, 'done', 5);
    const page = samplesOf(await metrics.registry.metrics());
    const turns = (le: string) => page.get(`svc_turn_seconds_bucket{kind="execution",outcome="done",le="${le}"}`);
    assert.deepEqual(['0.0001', '0.0005', '0.025', '0.05', '60', '+Inf'].map(turns), [1, 2, 2, 3, 3, 4]);
    assert.equal(page.get('svc_turn_seconds_count{kind="execution",outcome="done"}'), 4);
    assert.equal(page.get('svc_turn_seconds_sum{kind="execution",outcome="done"}'), 90.0404);
    const kinds = [...page.keys()].filter((name) => name.startsWith('svc_effect_seconds_count'));
    assert.equal(kinds.length, 64);
    assert.equal(page.get('svc_effect_seconds_count{kind="other",outcome="done"}'), 37);
  });

  it('the metrics refuse containers of agents, which have the agent calls of the same address', async () => {
    const app = createInternalServer({
      dispatch: new ScriptedLoop([]),
      tokens: { issue: async () => '', verify: () => Promise.reject(new Error('no token is asked for')) },
      logger: pino({ level: 'silent' }),
      addRoutes: (scope) => scope.get('/metrics', { config: { access: 'public' } }, () => 'figures'),
      isOfAgents: (address) => address === '10.88.0.2',
    });
    try {
      const from = async (remoteAddress: string, url: string, method: 'GET' | 'POST' = 'GET') =>
        (await app.inject({ url, method, remoteAddress })).statusCode;
      assert.equal(await from('10.88.0.2', '/metrics'), 404);
      assert.equal(await from('127.0.0.1', '/metrics'), 200);
      assert.equal(await from('10.88.0.2', '/v1/dispatch-gateway', 'POST'), 401);
    } finally {
      await app.close();
    }
  });

  it('the metrics refuse web pages on this machine: by a name of another site and from another origin', async () => {
    const app = createInternalServer({
      dispatch: new ScriptedLoop([]),
      tokens: { issue: async () => '', verify: () => Promise.reject(new Error('no token is asked for')) },
      logger: pino({ level: 'silent' }),
      addRoutes: (scope) => scope.get('/metrics', { config: { access: 'public' } }, () => 'figures'),
    });
    try {
      const from = async (remoteAddress: string, headers: Readonly<Record<string, string>>) =>
        (await app.inject({ url: '/metrics', remoteAddress, headers })).statusCode;
      for (const remoteAddress of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
        for (const host of ['evil.example', '0.0.0.0:8091', '[::]:8091']) {
          assert.equal(await from(remoteAddress, { host }), 403, `${remoteAddress} ${host}`);
        }
        for (const host of ['localhost:8091', '127.0.0.1:8091', '[::1]:8091']) {
          assert.equal(await from(remoteAddress, { host }), 200, `${remoteAddress} ${host}`);
          assert.equal(await from(remoteAddress, { host, origin: 'http://evil.example' }), 403);
          assert.equal(await from(remoteAddress, { host, 'sec-fetch-site': 'cross-site' }), 403);
        }
      }
      assert.equal(await from('10.0.0.7', { host: 'node-a.example:8091' }), 200, 'a scrape from another machine');
    } finally {
      await app.close();
    }
  });

  it('are served by a node that was just started, not on its public address, and not when they are turned off', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-metrics-'));
    const config = join(directory, 'svc.yaml');
    const off =
      'apiVersion: svc.dev/v1\nkind: NodeConfig\nmetadata: {name: quiet}\nspec: {observability: {metrics: {enabled: false}}}\n';
    await writeFile(config, off);
    try {
      for (const [args, status] of [
        [[], 200],
        [['--config', config], 404],
      ] as const) {
        const node = new NodeProcess(['--data', join(directory, String(status)), ...args]);
        node.spawn();
        try {
          const { url } = await node.internal;
          assert.equal((await fetch(`${url}/metrics`)).status, status);
          assert.equal((await fetch(`${await node.url}/metrics`)).status, 404);
        } finally {
          await node.kill();
        }
      }
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});

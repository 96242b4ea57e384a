import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { textLines } from '../../app/log/log-output.ts';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, ProductNode } from './product-node.ts';
import { workflowYaml } from './why/planted-runs.ts';

const Line = z.looseObject({ level: z.number(), node: z.string(), event: z.string().optional(), msg: z.string() });

describe('the log of a node', () => {
  let node: ProductNode;
  before(async () => {
    node = await ProductNode.start({ spec: { observability: { logging: { level: 'info' } } } });
  });
  after(() => node[Symbol.asyncDispose]());

  // The end may be an incomplete line.
  const lines = () =>
    node.process.log
      .slice(0, node.process.log.lastIndexOf('\n') + 1)
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => Line.parse(JSON.parse(line)));
  const eventsOf = (run: string) => lines().filter((line) => line.run === run);

  test('has lines of JSON for start, failure and end of a run, with node, tenant, run and trace', async () => {
    const good = await node.run(await node.deploy(agentYaml('good')), 'x');
    const bad = await node.run(await node.deploy(agentYaml('bad', { runtime: { model: 'nowhere' } })), 'secret-input');
    await waitUntil('both have ended in the log', () =>
      [good, bad].every((run) => eventsOf(run).some(({ event }) => event === 'run_ended')),
    );
    assert.deepEqual(
      eventsOf(good).map(({ event, tenant, kind, status }) => [event, tenant, kind, status]),
      [
        ['run_started', 'svc-system', 'execution', undefined],
        ['run_ended', 'svc-system', 'execution', 'completed'],
      ],
    );
    const rest = eventsOf(bad);
    assert.equal(rest.filter(({ event }) => event === 'run_started').length, 1);
    const failed = rest.find(({ event }) => event === 'effect_failed');
    assert.deepEqual([failed?.effect, failed?.code, failed?.attempt], ['model.generate', 'not_found', 1]);
    assert.match(String(failed?.error), /No model has the alias "nowhere"/);
    assert.deepEqual([rest.at(-1)?.event, rest.at(-1)?.status, rest.at(-1)?.level], ['run_ended', 'failed', 40]);
    for (const line of eventsOf(bad)) assert.match(String(line.trace), /^[0-9a-f]{32}$/);
    assert.ok(!node.process.log.includes('secret-input'));
    assert.equal(new Set(lines().map((line) => line.node)).size, 1);
    // Leases that are acquired together are one line, which comes a moment later.
    await waitUntil('the leases in the log', () => lines().some(({ event }) => event === 'leases_taken'));
  });

  test('a run that completed in a failed state is a warning with its outcome', async () => {
    const run = await node.runWorkflow(
      workflowYaml('ends-failed', { kind: 'System', command: 'exit 3', transitions: [] }),
    );
    const ended = await waitUntil('its end in the log', () => eventsOf(run).find(({ event }) => event === 'run_ended'));
    assert.deepEqual([ended.level, ended.status, ended.outcome], [40, 'completed', 'failed']);
    assert.equal(ended.msg, 'a run ended as failed');
  });

  test('logs its start, how sizes of volumes are kept, its drain and the signal that ended it, and keeps the lines for people apart', async () => {
    assert.ok(lines().some(({ event }) => event === 'node_started'));
    assert.ok(lines().some(({ quota, msg }) => quota === 'sampled' && msg.startsWith('volumes are measured')));
    assert.match(node.process.announced, /^REST +http/m);
    const [{ node: id } = { node: '' }] = lines();
    const run = await node.run(await node.deploy(agentYaml('sleeps')), 'sleepy');
    await waitUntil('its model is called', async () =>
      JSON.stringify(await node.statusOf(run)).includes('its model, attempt 1 on'),
    );
    assert.equal((await node.call('POST', `/v1/cluster/nodes/${id}/drain`)).status, 200);
    await waitUntil('the drain is in the log', () => lines().some(({ event }) => event === 'drain'));
    await node.process.stop();
    await waitUntil('the signal is in the log', () =>
      lines().some(({ event, signal }) => event === 'signal' && signal === 'SIGTERM'),
    );
    // An attempt that a stopping node gives back did not fail.
    const given = await waitUntil('the attempt in the log', () =>
      eventsOf(run).find(({ event }) => event === 'effect_retried'),
    );
    assert.deepEqual([given?.level, given?.code], [30, undefined]);
    assert.deepEqual(
      node.process.log.split('\n').filter((line) => line !== '' && !line.startsWith('{')),
      [],
    );
  });
});

test('format text has the same lines for people, and no value can look like another field', () => {
  const written: string[] = [];
  const out = textLines({ write: (line) => void written.push(line) });
  out.write('{"level":40,"time":0,"node":"n1","run":"r-1","error":"a=b c\\nd","msg":"a run failed"}\n');
  out.write('not JSON\n');
  assert.deepEqual(written, [
    '1970-01-01T00:00:00.000Z WARN  a run failed node=n1 run=r-1 error="a=b c\\nd"\n',
    'not JSON\n',
  ]);
});

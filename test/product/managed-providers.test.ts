import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { svc } from '../cli/svc-run.ts';
import { ModelServer } from '../support/model-server.ts';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, ProductNode } from './product-node.ts';

const KEY = 'sk-of-the-fleet-4711';
const CLUSTER = { enabled: true, cluster_grpc_port: 0, heartbeat_interval_secs: 1 };
const PATH = '/v1/cluster/providers';

const Changed = z.looseObject({
  version: z.number(),
  nodes: z.array(z.object({ node_id: z.string(), accepted: z.boolean(), reason: z.string().nullable() })),
});

const Ended = z.looseObject({ status: z.string(), error: z.looseObject({ code: z.string() }).nullish() });

describe('providers of models from a controller', () => {
  const model = new ModelServer();
  let node: ProductNode;
  let agent = '';
  const answers: string[] = [];

  before(async () => {
    await model.start();
    model.answer(() => ({ chunks: ['done'], usage: { input: 1, output: 1 } }));
    node = await ProductNode.start({ spec: { llm_providers: [], cluster: CLUSTER } });
    await waitUntil('it is registered', async () => {
      const { text } = await node.call('GET', '/v1/cluster/nodes');
      return text.includes('"registered":true');
    });
    agent = await node.deploy(agentYaml('smart-one', { runtime: { model: 'smart' } }));
    await node.json('PUT', '/v1/secrets/providers%2Ffleet', { value: KEY });
  });
  after(async () => {
    await node?.[Symbol.asyncDispose]();
    await model.stop();
  });

  const provider = (more: object = {}) => ({
    type: 'openai-compatible',
    endpoint: `${model.url}/v1`,
    api_key: 'secret:providers/fleet',
    models: [{ alias: 'smart', model: 'big' }],
    ...more,
  });
  const change = async (method: string, path: string, body?: unknown) => {
    const answer = await node.json(method, path, body);
    answers.push(answer.text);
    assert.equal(answer.status, 200, answer.text);
    const changed = Changed.parse(answer.body);
    assert.deepEqual(
      changed.nodes.map(({ accepted, reason }) => [accepted, reason]),
      [[true, null]],
    );
    return changed;
  };
  const runOnce = async (id = agent) => {
    const run = await node.run(id, 'x');
    return waitUntil('the run ends', async () => {
      const ended = Ended.parse(await node.statusOf(run));
      return /completed|failed/.test(ended.status) && ended;
    });
  };

  test('one that is put is used without a restart, with its key from the secret; when it is removed, its aliases are unknown', async () => {
    assert.equal((await runOnce()).error?.code, 'not_found');
    const first = await change('PUT', `${PATH}/fleet`, provider());
    const ended = await runOnce();
    assert.equal(ended.status, 'completed', JSON.stringify(ended));
    const [call] = model.calls;
    assert.deepEqual([call?.headers.authorization, call?.body.model], [`Bearer ${KEY}`, 'big']);
    const second = await change('DELETE', `${PATH}/fleet`);
    assert.ok(second.version > first.version);
    assert.equal((await runOnce()).error?.code, 'not_found');
    assert.equal((await node.json('DELETE', `${PATH}/fleet`, undefined)).status, 404);
  });

  test('aliases are put and removed one by one, and survive a restart', async () => {
    await change('PUT', `${PATH}/fleet`, provider({ models: [{ alias: 'cheap', model: 'small' }] }));
    await change('PUT', `${PATH}/fleet/models/smart`, { model: 'bigger', fallback_alias: 'cheap' });
    await node.process.kill('SIGKILL');
    await node.spawn();
    model.calls.length = 0;
    assert.equal((await runOnce()).status, 'completed');
    assert.deepEqual([...new Set(model.calls.map(({ body }) => body.model))], ['bigger']);
    const kept = await node.json('DELETE', `${PATH}/fleet/models/cheap`, undefined);
    assert.deepEqual([kept.status, kept.body.error], [422, 'validation_failed'], 'smart falls back to it');
    assert.match(String(kept.body.message), /fallback_alias: no managed model has the alias "cheap"/);
    await waitUntil('it is registered again', async () =>
      (await node.call('GET', '/v1/cluster/nodes')).text.includes('"status":"ACTIVE"'),
    );
    const listed = await node.call('GET', PATH);
    assert.deepEqual(
      z.object({ providers: z.array(z.looseObject({ name: z.string() })) }).parse(listed.body).providers.length,
      1,
    );
    assert.equal((await node.json('DELETE', `${PATH}/fleet/models/none`, undefined)).status, 404);
    assert.equal((await node.json('PUT', `${PATH}/none/models/x`, { model: 'm' })).status, 404);
  });

  for (const [what, body, field] of [
    ['a key as a value', { api_key: KEY }, 'api_key'],
    ['a variable of the nodes', { api_key: 'env:PATH' }, 'api_key'],
    ['a secret of another purpose', { api_key: 'secret:stores/mongodb' }, 'api_key'],
    ['a header as a value', { headers: { 'x-key': KEY } }, 'headers'],
    ['an endpoint with a key in its query', { endpoint: `https://models.example/v1?key=${KEY}` }, 'endpoint'],
    ['an endpoint with a password', { endpoint: `https://u:${KEY}@models.example/v1` }, 'endpoint'],
    ['a file of one node', { type: 'scripted', script: '/etc/passwd' }, 'type'],
    ['an unknown member', { colour: 'red' }, 'colour'],
  ] as const) {
    test(`${what} is refused; the error names the field without the value`, async () => {
      const { status, text } = await node.json('PUT', `${PATH}/other`, provider(body));
      answers.push(text);
      assert.equal(status, 400, text);
      assert.ok(text.includes(field), text);
    });
  }

  test('no answer, configuration or audit entry contains the key, and each change is audited', async () => {
    const config = await node.call('GET', '/v1/cluster/config');
    const listed = await node.call('GET', PATH);
    const audit = await waitUntil('the audit has it', async () => {
      const { text } = await node.call('GET', '/v1/audit?limit=200');
      return text.includes('model_providers.put_model') && text.includes('model_providers.remove') && text;
    });
    for (const text of [...answers, config.text, listed.text, audit]) assert.ok(!text.includes(KEY), text);
    assert.match(listed.text, /secret:providers\/fleet/);
    assert.match(audit, /"operation":"model_providers\.put"[^}]*"target":"fleet"/);
  });

  test('the command line sets, lists and removes them', async () => {
    const url = { SVC_URL: node.url };
    const set = await svc(
      ['provider', 'set', 'second', '--type', 'openai', '--api-key', 'secret:providers/fleet', '--model', 'fast=mini'],
      url,
    );
    assert.deepEqual([set.code, set.stderr], [0, '']);
    assert.match(set.stdout, /ACCEPTED/);
    const alias = await svc(['provider', 'alias', 'set', 'second', 'tiny', 'nano', '--fallback', 'fast'], url);
    assert.equal(alias.code, 0, alias.stderr);
    const { stdout } = await svc(['provider', 'list'], url);
    assert.match(stdout, /^second +openai +- +secret:providers\/fleet +true +fast=mini, tiny=nano$/m);
    assert.equal((await svc(['provider', 'remove', 'second'], url)).code, 0);
  });
});

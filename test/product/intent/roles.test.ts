import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { Realms } from '../realms.ts';
import { AGENT_AUTHOR, IntentNode, writes } from './intent-node.ts';

const greeter = stringify({
  apiVersion: 'svc.dev/v1',
  kind: 'Agent',
  metadata: { name: 'greeter', version: '1.0.0' },
  spec: { task: { instruction: 'Greet.' } },
});

const greeterAuthor = [
  {
    match: { contains: [AGENT_AUTHOR, 'a greeter'], round: 1 },
    reply: { tool_calls: [{ name: 'svc.agent.create', arguments: { manifest_yaml: greeter } }] },
  },
  {
    match: { contains: [AGENT_AUTHOR, 'a greeter'] },
    reply: '{"agent_id": "a", "name": "greeter", "version": "1.0.0"}',
  },
];

describe('the roles that may generate and execute', () => {
  let realms: Realms;
  let setup: IntentNode;
  before(async () => {
    realms = await Realms.open();
    const rules = [...greeterAuthor, writes('anything', 'echo hello')];
    setup = await IntentNode.start(rules, { options: { spec: { ...realms.spec, runtime: {} } } });
  });
  after(async () => {
    await setup[Symbol.asyncDispose]();
    await realms[Symbol.asyncDispose]();
  });

  const lookup = async (who: Parameters<Realms['headers']>[0]) => {
    const headers = await realms.headers(who);
    return setup.node.call('GET', '/v1/agents/lookup/greeter', { headers });
  };

  test('a user without roles gets an agent in the default context, and owns it', async () => {
    const task = await setup.generated('agents', 'a greeter', await realms.headers('alphaUser'));
    assert.equal(task.status, 'completed', JSON.stringify(task));
    assert.equal((await lookup('alphaUser')).status, 200);
    assert.equal((await lookup('alphaAdmin')).status, 404);
    assert.equal((await lookup('betaAdmin')).status, 404);
  });

  test('an agent that an administrator has generated belongs to the tenant', async () => {
    const task = await setup.generated('agents', 'a greeter', await realms.headers('betaAdmin'));
    assert.equal(task.status, 'completed', JSON.stringify(task));
    const other = await realms.headersWith('beta', { sub: 'someone else' });
    assert.equal((await setup.node.call('GET', '/v1/agents/lookup/greeter', { headers: other })).status, 200);
  });

  test('a consumer of the free tier may generate; a read-only caller may not', async () => {
    const task = await setup.generated('agents', 'a greeter', await realms.headers('consumer'));
    assert.equal(task.status, 'completed', JSON.stringify(task));
    const headers = await realms.headers('readonly');
    for (const [path, body] of [
      ['/v1/agents/generate', { input: 'x' }],
      ['/v1/workflows/generate', { input: 'x' }],
      ['/v1/execute', { prompt: 'x' }],
      ['/v1/execute/intent', { intent: 'x' }],
    ] as const)
      assert.equal((await setup.node.json('POST', path, body, headers)).status, 403, path);
  });

  test('a volume needs tier pro or above, and the answer says so', async () => {
    const volume_id = '00000000-0000-4000-8000-000000000000';
    const ask = async (claims: Parameters<Realms['headersWith']>[1]) =>
      setup.node.json(
        'POST',
        '/v1/execute/intent',
        { intent: 'x', volume_id },
        await realms.headersWith('people', claims),
      );
    const free = await ask({ sub: 'carl', svc_tier: 'free' });
    assert.equal(free.status, 403);
    assert.match(free.text, /volume_id: .*pro/);
    assert.equal((await ask({ sub: 'paul', svc_tier: 'pro' })).status, 404);
  });

  test('a consumer of tier pro creates the volume of volume_id and runs with it; one of the free tier creates none', async () => {
    const of = (svc_tier: string) => realms.headersWith('people', { sub: `keeper of ${svc_tier}`, svc_tier });
    const make = async (tier: string) =>
      setup.node.json('POST', '/v1/volumes', { name: 'mine', storage_class: 'persistent' }, await of(tier));
    assert.equal((await make('free')).status, 403);
    const made = await make('pro');
    assert.equal(made.status, 200, made.text);
    const intent = { intent: 'anything', language: 'bash', volume_id: String(made.body.id) };
    const started = await setup.node.json('POST', '/v1/execute/intent', intent, await of('pro'));
    assert.equal(started.status, 200, started.text);
  });

  test('a pipeline of another tenant answers like one that does not exist', async () => {
    const own = await realms.headers('alphaUser');
    const { pipeline_execution_id: id } = await setup.start('anything', {}, own);
    const unknown = '00000000-0000-4000-8000-000000000000';
    const headers = await realms.headers('betaAdmin');
    const theirs = await setup.node.call('GET', `/v1/execute/${id}`, { headers });
    assert.deepEqual(
      [theirs.status, theirs.text],
      [404, (await setup.node.call('GET', `/v1/execute/${unknown}`, { headers })).text],
    );
    assert.equal((await setup.node.call('GET', `/v1/execute/${id}`, { headers: own })).status, 200);
  });
});

test('a caller at the agent limit of its tier gets no new agent: the shipped agent writes the program', async () => {
  await using realms = await Realms.open();
  const rate_limits = { tiers: { free: { agents: 1 } } };
  await using setup = await IntentNode.start([...greeterAuthor, writes('anything', 'echo hello')], {
    execute: { generate: true },
    options: { spec: { ...realms.spec, runtime: {}, rate_limits } },
  });
  const headers = await realms.headersWith('people', { sub: 'carl', svc_tier: 'free' });
  const statesOf = async (): Promise<string> => {
    const { pipeline_execution_id: id } = await setup.start('anything', {}, headers);
    await setup.ended(id, headers);
    const { body } = await setup.node.call('GET', `/v1/workflows/executions/${id}`, { headers });
    return Object.keys(Object(body.state_outputs)).join(' ');
  };
  assert.match(await statesOf(), /GENERATE_AGENT/);
  const task = await setup.generated('agents', 'a greeter', headers);
  assert.equal(task.status, 'completed', JSON.stringify(task));
  assert.match(await statesOf(), /^DISCOVER USE_BUILT_IN/);
});

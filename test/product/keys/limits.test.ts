import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../../support/wait-until.ts';
import { type Answer, agentYaml, ProductNode } from '../product-node.ts';
import { type CallerName, Realms } from '../realms.ts';

const OVERRIDES = '/v1/admin/rate-limits/overrides';

describe('limits and secrets of users on a node with an identity provider', () => {
  let realms: Realms;
  let node: ProductNode;
  before(async () => {
    realms = await Realms.open();
    node = await ProductNode.start({ spec: realms.spec });
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await realms[Symbol.asyncDispose]();
  });
  const as = async (caller: CallerName, method: string, path: string, body?: object): Promise<Answer> =>
    node.json(method, path, body, await realms.headers(caller));
  const start = (agent_id: string, input: string): Promise<Answer> =>
    as('alphaUser', 'POST', '/v1/executions', { agent_id, input });

  test('as many executions run at once as allowed; an ended or cancelled one frees a place', async () => {
    const agent = await node.deploy(agentYaml('writer'), await realms.headers('alphaAdmin'));
    const rates = { concurrent_executions: 2 };
    const put = await as('operator', 'PUT', OVERRIDES, { tenant: 'alpha', subject: 'andy', rates });
    assert.equal(put.status, 200, put.text);
    const [one, two] = [await start(agent, 'sleepy'), await start(agent, 'sleepy')];
    assert.deepEqual([one.status, two.status], [200, 200], one.text + two.text);
    const third = await start(agent, 'quick');
    assert.equal(third.status, 429, third.text);
    assert.match(third.text, /at most 2 executions may run at once/);
    assert.ok(Number(third.headers.get('retry-after')) > 0);
    const admin = await as('alphaAdmin', 'POST', '/v1/executions', { agent_id: agent, input: 'quick' });
    assert.equal(admin.status, 200, 'another user has its own');
    const usage = await as('alphaUser', 'GET', '/v1/user/rate-limits/usage');
    assert.deepEqual(usage.body.concurrent_executions, { used: 2, limit: 2 });
    await as('alphaUser', 'POST', `/v1/executions/${one.body.execution_id}/cancel`);
    assert.equal((await start(agent, 'quick')).status, 200);
    await waitUntil('the quick one to make room', async () => (await start(agent, 'quick')).status === 200);
    await as('alphaUser', 'POST', `/v1/executions/${two.body.execution_id}/cancel`);
  });

  test('a limit that is set at run time refuses with Retry-After, shows in usage, and is gone when it is removed', async () => {
    const agent = await node.deploy(agentYaml('reader'), await realms.headers('alphaAdmin'));
    const target = { tenant: 'alpha', subject: 'andy' };
    await as('operator', 'PUT', OVERRIDES, { ...target, rates: { agent_executions: { month: 0 } } });
    const refused = await start(agent, 'quick');
    assert.equal(refused.status, 429, refused.text);
    assert.match(refused.text, /at most 0 agent executions per month/);
    const usage = await as('readonly', 'GET', '/v1/admin/rate-limits/usage?tenant=alpha&subject=andy');
    assert.equal(usage.status, 200, usage.text);
    assert.match(usage.text, /"name":"agent_executions","window":"month","used":\d+,"limit":0/);
    for (const caller of ['alphaAdmin', 'alphaUser', 'service', 'consumer'] as const) {
      assert.equal((await as(caller, 'GET', OVERRIDES)).status, 403, caller);
      assert.equal((await as(caller, 'PUT', OVERRIDES, { ...target, rates: {} })).status, 403, caller);
      assert.equal((await as(caller, 'GET', '/v1/admin/rate-limits/usage?tenant=alpha&subject=andy')).status, 403);
    }
    assert.equal((await as('operator', 'PUT', OVERRIDES, { ...target, rates: { sweets: 1 } })).status, 400);
    assert.equal((await as('operator', 'DELETE', `${OVERRIDES}?tenant=alpha&subject=andy`)).status, 200);
    assert.equal((await start(agent, 'quick')).status, 200);
    assert.equal((await as('operator', 'DELETE', `${OVERRIDES}?tenant=alpha&subject=andy`)).status, 404);
  });

  test('secrets belong to their tenant, and no answer returns their value', async () => {
    const path = '/v1/secrets/db%2Fpassword';
    const put = await as('alphaAdmin', 'PUT', path, { value: 'hunter2' });
    assert.equal(put.status, 200, put.text);
    const answers = [
      put,
      await as('alphaAdmin', 'GET', path),
      await as('alphaAdmin', 'GET', '/v1/secrets'),
      await as('alphaAdmin', 'PUT', path, { value: 'hunter2', more: 'hunter2' }),
      await as('alphaAdmin', 'PUT', path, { value: 'hunter2', expect: 'absent' }),
      await as('alphaAdmin', 'GET', `${path}?reveal=true`),
    ];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 400, 409, 400],
    );
    for (const { text } of answers) assert.doesNotMatch(text, /hunter2/);
    for (const caller of ['betaAdmin', 'operator'] as const) assert.equal((await as(caller, 'GET', path)).status, 404);
    for (const caller of ['alphaUser', 'serviceForAlpha', 'service', 'readonly', 'consumer'] as const) {
      assert.equal((await as(caller, 'GET', path)).status, 403, caller);
      assert.equal((await as(caller, 'PUT', path, { value: 'theirs' })).status, 403, caller);
    }
    assert.doesNotMatch(node.process.log, /hunter2/);
    assert.equal((await as('alphaAdmin', 'DELETE', path)).status, 200);
    assert.equal((await as('alphaAdmin', 'DELETE', path)).status, 404);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namedUsers, restServer } from './rest-server.ts';

test('a caller gets its identity and what its roles allow; no caller is 401', async () => {
  await using at = await restServer({ authenticator: namedUsers });
  const actionsOf = async (user: string) => {
    const { status, body } = await at.call('GET', '/v1/me', { headers: { authorization: `Bearer ${user}` } });
    assert.deepEqual([status, body.key], [200, null], user);
    return [body.tenant, body.actions.join(' ')];
  };
  assert.deepEqual(await actionsOf('reader'), ['svc-system', 'read audit inspect']);
  assert.deepEqual(await actionsOf('operator'), ['svc-system', 'read run write audit inspect operate']);
  assert.deepEqual(await actionsOf('admin'), ['svc-system', 'read run write audit inspect operate break']);
  assert.equal((await actionsOf('alice'))[1], 'read run write audit');
  assert.equal((await actionsOf('consumer'))[1], 'read run');
  assert.equal((await at.call('GET', '/v1/me')).status, 401);
});

test('the operator of a loopback node may do everything, and every scope is held', async () => {
  await using at = await restServer();
  const { body } = await at.call('GET', '/v1/me');
  assert.deepEqual([body.kind, body.actions.length], ['local', 7]);
  assert.ok(['keys:write', 'tools:call', 'audit:read'].every((scope) => body.scopes.includes(scope)));
});

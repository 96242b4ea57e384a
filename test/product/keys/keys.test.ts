import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../../support/wait-until.ts';
import { clientOf, ended, metadataOf, request } from '../../transport/grpc/call.ts';
import { type Answer, agentYaml, ProductNode } from '../product-node.ts';
import { type CallerName, Realms } from '../realms.ts';

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

describe('API keys on a node with an identity provider', () => {
  let realms: Realms;
  let node: ProductNode;
  let agent: string;
  before(async () => {
    realms = await Realms.open();
    node = await ProductNode.start({ spec: { ...realms.spec, observability: { logging: { level: 'debug' } } } });
    agent = await node.deploy(agentYaml('writer'), await realms.headers('alphaAdmin'));
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await realms[Symbol.asyncDispose]();
  });

  const as = async (caller: CallerName, method: string, path: string, body?: object): Promise<Answer> =>
    node.json(method, path, body, await realms.headers(caller));
  const make = async (caller: CallerName, scopes?: readonly string[]): Promise<{ id: string; key: string }> => {
    const { status, body, text } = await as(caller, 'POST', '/v1/api-keys', { name: 'test', scopes });
    assert.equal(status, 200, text);
    return { id: String(body.id), key: String(body.key) };
  };
  const by = (key: string, method: string, path: string, body?: object, more = {}): Promise<Answer> =>
    node.json(method, path, body, { ...bearer(key), ...more });

  test('a key starts and follows what its owner may, over REST, gRPC and /mcp', async () => {
    const { key } = await make('alphaUser', ['agents:read', 'executions:*', 'tools:call']);
    assert.equal((await by(key, 'GET', '/v1/agents')).status, 200);
    const started = await by(key, 'POST', '/v1/executions', { agent_id: agent, input: 'quick' });
    assert.equal(started.status, 200, started.text);
    // The header has no effect for a key: its tenant is its owner's.
    const seen = await by(key, 'GET', `/v1/executions/${started.body.execution_id}`, undefined, {
      'x-tenant-id': 'beta',
    });
    assert.equal(seen.status, 200, seen.text);
    const client = clientOf(await node.process.grpcAddress);
    const run = await ended(client.executeAgent(request(agent), metadataOf(bearer(key))));
    assert.equal(run.code, 'OK', run.status.details);
    client.close();
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const mcp = await by(key, 'POST', '/mcp', list, { accept: 'application/json, text/event-stream' });
    assert.equal(mcp.status, 200, mcp.text);
  });

  test('beyond its scopes a key is refused on every interface, and its owner’s role does not widen them', async () => {
    const { key } = await make('alphaAdmin', ['executions:read']);
    const lacks = async (method: string, path: string, scope: string, body?: object): Promise<void> => {
      const { status, text } = await by(key, method, path, body);
      assert.equal(status, 403, `${method} ${path}: ${text}`);
      assert.match(text, new RegExp(`lacks scope ${scope}`));
    };
    assert.equal((await by(key, 'GET', '/v1/executions')).status, 200);
    await lacks('POST', '/v1/executions', 'executions:write', { agent_id: agent, input: 'x' });
    await lacks('POST', `/v1/agents/${agent}/execute`, 'executions:write', {});
    await lacks('GET', '/v1/agents', 'agents:read');
    await lacks('DELETE', `/v1/agents/${agent}`, 'agents:write');
    await lacks('POST', '/v1/api-keys', 'keys:write', { name: 'more' });
    await lacks('GET', '/v1/cluster/status', 'cluster:read');
    await lacks('POST', '/mcp', 'tools:call', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const client = clientOf(await node.process.grpcAddress);
    const run = await ended(client.executeAgent(request(agent), metadataOf(bearer(key))));
    assert.equal(run.code, 'PERMISSION_DENIED');
    assert.match(run.status.details, /lacks scope executions:write/);
    client.close();
    const wide = await make('readonly', ['*']);
    const refused = await by(wide.key, 'POST', '/v1/executions', { agent_id: agent, input: 'x' });
    assert.match(refused.text, /role does not allow/, 'a key never has more than its owner');
  });

  test('an invalid, expired or revoked key is 401 with one text, a revoked one within a second', async () => {
    const { id, key } = await make('alphaUser');
    const swapped = `svc_${key.slice(4).replace(/[a-z]/gi, (c) => (c < 'a' ? c.toLowerCase() : c.toUpperCase()))}`;
    const other = await make('alphaUser');
    const bad = [
      key.slice(0, -1),
      swapped,
      key.slice(0, -6) + other.key.slice(-6),
      'svc_',
      `${key}x`,
      `SVC${key.slice(3)}`,
    ];
    const none = await by('svc_nothing', 'GET', '/v1/agents');
    for (const text of bad) {
      const answer = await by(text, 'GET', '/v1/agents');
      assert.equal(answer.status, 401, answer.text);
      assert.equal(answer.text, none.text);
    }
    assert.equal((await by(key, 'GET', '/v1/agents')).status, 200);
    assert.equal((await as('betaAdmin', 'DELETE', `/v1/api-keys/${id}`)).status, 404);
    assert.equal((await as('alphaUser', 'DELETE', `/v1/api-keys/${id}`)).status, 200);
    assert.equal((await by(key, 'GET', '/v1/agents')).status, 401);
    const checked = await as('alphaUser', 'POST', '/v1/api-keys/validate', { key });
    assert.deepEqual(checked.body, { valid: false, key: null });
  });

  test('no key is ever logged; the log names who created and who revoked it', async () => {
    const { id, key } = await make('alphaUser');
    await by(key, 'GET', '/v1/nothing-here');
    await by(key, 'POST', '/v1/executions', { agent_id: 7 });
    await as('alphaUser', 'POST', '/v1/api-keys/validate', { key, more: true });
    await as('alphaAdmin', 'DELETE', `/v1/api-keys/${id}`);
    await waitUntil('the log names who revoked it', async () => node.process.log.includes('ApiKeyRevoked'));
    assert.ok(node.process.log.includes(id) && node.process.log.includes('anna'));
    assert.ok(!node.process.log.includes(key.slice(4, 40)));
  });
});

describe('API keys on a node without an identity provider', () => {
  test('a key works and narrows the rights, no key is needed, and a bad one does not become the local operator', async () => {
    await using node = await ProductNode.start();
    const made = await node.json('POST', '/v1/api-keys', { name: 'local', scopes: ['agents:read'] });
    assert.equal(made.status, 200, made.text);
    const key = String(made.body.key);
    assert.equal((await node.call('GET', '/v1/agents')).status, 200);
    assert.equal((await node.call('GET', '/v1/agents', { headers: bearer(key) })).status, 200);
    assert.equal((await node.call('GET', '/v1/executions', { headers: bearer(key) })).status, 403);
    assert.equal((await node.call('GET', '/v1/agents', { headers: bearer(`${key.slice(0, -1)}_`) })).status, 401);
  });
});

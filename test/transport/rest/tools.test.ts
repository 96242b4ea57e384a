import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../../support/wait-until.ts';
import { mcpServer, post } from '../mcp/mcp-server.ts';

describe('/v1/tools', () => {
  let at: Awaited<ReturnType<typeof mcpServer>>;
  before(async () => {
    at = await mcpServer({ denied: ['wild.crash'] });
  });
  after(() => at[Symbol.asyncDispose]());

  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const list = async (token: string, query = '') =>
    (await at.rest.call('GET', `/v1/tools${query}`, { headers: bearer(token) })).body;
  const call = (name: string, args: unknown, token = 'operator') =>
    at.rest.postJson(`/v1/tools/${name}`, args, bearer(token));
  const mcp = async (name: string, args: unknown, token = 'operator') => {
    const params = { name, arguments: args };
    return (await post(at.url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, { token })).body;
  };

  test('lists exactly what /mcp lists, for every kind of caller that may use it', async () => {
    for (const token of ['operator', 'admin', 'client', 'consumer', 'alice']) {
      const { tool, tools, total } = await list(token);
      const { result } = (await post(at.url, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { token })).body;
      const names = (of: readonly { name: string }[]) => of.map(({ name }) => name);
      const withoutDots = names(tools).map((name) => name.replaceAll('.', '_'));
      assert.deepEqual([tool, withoutDots], ['svc.tools.list', names(result.tools)], token);
      assert.equal(total, tools.length);
      assert.deepEqual(Object.keys(tools[0]), ['name', 'description', 'source', 'skip_judge']);
    }
  });

  test('is searched, and shows schemas where they are asked for', async () => {
    const { tool, tools, total } = await list('operator', '?query=PAGE&schemas');
    assert.deepEqual([tool, total], ['svc.tools.search', tools.length]);
    assert.ok(total > 0);
    for (const { name, description, input_schema } of tools) {
      assert.match(`${name} ${description}`, /page/i);
      assert.equal(input_schema.type, 'object');
    }
  });

  test('a read-only caller sees the reading tools, and calls no other', async () => {
    const { tools } = await list('reader');
    assert.ok(tools.some(({ name }: { name: string }) => name === 'svc.agent.list'));
    assert.ok(!tools.some(({ name }: { name: string }) => name === 'svc.task.execute'));
    assert.equal((await call('svc.tools.list', {}, 'reader')).status, 200);
    const refused = await call('svc.task.execute', { agent_id: 'any' }, 'reader');
    assert.deepEqual([refused.status, refused.body.reason], [403, 'ToolNotAllowed']);
  });

  test('a call answers what /mcp answers', async () => {
    const { status, body } = await call('svc.tools.search', { query: 'list' });
    assert.equal(status, 200);
    const { result } = await mcp('svc.tools.search', { query: 'list' });
    assert.deepEqual(body, result);
    assert.equal(body.isError, false);
  });

  test('a failure that a tool reports is a 200 with isError and the code', async () => {
    const { status, body } = await call('wild.error', {});
    const { result } = await mcp('wild.error', {});
    assert.deepEqual([status, body.isError, body], [200, true, result]);
  });

  test('arguments that break a rule are 422 and name the field; a body may be absent', async () => {
    const wrong = await call('svc.tools.search', { query: 5 });
    assert.deepEqual(
      [wrong.status, wrong.body.error, wrong.body.reason],
      [422, 'invalid_arguments', 'InvalidArguments'],
    );
    assert.match(wrong.body.message, /svc\.tools\.search: query/);
    const none = await at.rest.call('POST', '/v1/tools/svc.tools.list', { headers: bearer('operator') });
    assert.equal(none.status, 200, none.text);
    assert.equal((await call('svc.tools.list', [])).status, 400);
  });

  test('a denied call is 403 with the precise reason, an unknown tool too', async () => {
    for (const [tool, token, reason] of [
      ['svc.nothing.here', 'operator', 'ToolNotAllowed'],
      ['svc.agent.delete', 'consumer', 'ToolNotAllowed'],
      ['fs.read', 'operator', 'ToolNotAllowed'],
      ['wild.crash', 'operator', 'ToolExplicitlyDenied'],
    ] as const) {
      const { status, body } = await call(tool, {}, token);
      assert.deepEqual(
        [status, body.error, body.reason],
        [403, 'tool_denied', reason],
        `${tool}: ${JSON.stringify(body)}`,
      );
    }
  });

  test('each call is a session with its chain, which names this way in', async () => {
    await call('svc.tools.list', {}, 'bob');
    const [session, ...more] = await waitUntil('the session is listed', async () => {
      const found = (await at.sessions.list('bob', { limit: 10 })).items;
      return found[0]?.status === 'closed' ? found : null;
    });
    assert.deepEqual([session?.source, session?.calls, more], ['rest', 1, []]);
    const records = await at.sessions.audit('bob', session?.session_id ?? '');
    assert.deepEqual(records.map(({ body }) => body.kind).slice(0, 2), ['opened', 'decided']);
  });

  test('without a token there is no list and no call', async () => {
    assert.equal((await at.rest.call('GET', '/v1/tools')).status, 401);
    assert.equal((await at.rest.postJson('/v1/tools/svc.tools.list', {})).status, 401);
  });
});

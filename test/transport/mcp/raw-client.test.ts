import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { createAuthenticator } from '../../../security/authenticator.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { mcpServer, post } from './mcp-server.ts';

const rpc = (method: string, params?: object, id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params });
const callOf = (name: string, given: object = {}, id: unknown = 1) => rpc('tools/call', { name, arguments: given }, id);
const initialize = (protocolVersion: string) =>
  rpc('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } });

describe('a client written by hand, against /mcp', () => {
  let at: Awaited<ReturnType<typeof mcpServer>>;
  before(async () => {
    at = await mcpServer({ denied: ['wild.crash'] });
    await at.behind.servers.tools();
  });
  after(() => at[Symbol.asyncDispose]());

  test('goes the whole way: initialize, initialized, list, call', async () => {
    const hello = await post(at.url, initialize('2025-06-18'));
    assert.equal(hello.status, 200);
    assert.match(hello.headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(hello.headers.get('mcp-session-id'), null);
    assert.equal(hello.body.result.protocolVersion, '2025-06-18');
    assert.deepEqual(hello.body.result.serverInfo, { name: 'svc', version: '0.0.1-test' });
    const headers = { 'mcp-protocol-version': '2025-06-18' };
    const note = await post(at.url, { jsonrpc: '2.0', method: 'notifications/initialized' }, { headers });
    assert.deepEqual([note.status, note.text], [202, '']);
    const { body: list } = await post(at.url, rpc('tools/list', undefined, 'two'), { headers });
    assert.equal(list.id, 'two');
    const names: string[] = list.result.tools.map(({ name }: { name: string }) => name);
    assert.ok(names.includes('wild_echo') && names.includes('svc_tools_list') && names.includes('web_fetch'));
    assert.ok(!names.some((name) => name.startsWith('fs_') || name === 'cmd_run' || name === 'wild_crash'));
    for (const tool of list.result.tools) assert.equal(tool.inputSchema.type, 'object');
    const { body: called } = await post(at.url, callOf('wild.echo', { text: 'hi' }, 3), { headers });
    assert.deepEqual(called, {
      jsonrpc: '2.0',
      id: 3,
      result: { content: [{ type: 'text', text: 'hi cancelled=0' }], isError: false },
    });
  });

  test('the version is negotiated: a known one is kept, an unknown one is answered with ours, a wrong header is 400', async () => {
    for (const known of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
      assert.equal((await post(at.url, initialize(known))).body.result.protocolVersion, known);
    }
    const { body } = await post(at.url, initialize('1999-01-01'));
    assert.match(body.result.protocolVersion, /^20\d\d-\d\d-\d\d$/);
    const wrong = await post(at.url, rpc('tools/list'), { headers: { 'mcp-protocol-version': '1999-01-01' } });
    assert.equal(wrong.status, 400);
    assert.match(wrong.body.error.message, /Unsupported protocol version/);
  });

  test('request ids are returned unchanged, whatever they are', async () => {
    for (const id of [0, -1, 9_007_199_254_740_991, '', '1', 'ü'.repeat(100), 'x'.repeat(5_000)]) {
      const { body } = await post(at.url, callOf('wild.echo', { text: 'x' }, id));
      assert.deepEqual([body.id, body.result?.isError], [id, false]);
    }
    for (const id of [null, 1.5, true, {}, ['1']]) {
      const { status, body } = await post(at.url, callOf('wild.echo', {}, id));
      assert.deepEqual([status, body.error.code], [400, -32_700]);
    }
  });

  test('each refusal of a caller has its own answer', async () => {
    const unknown = await post(at.url, callOf('no.such.tool'));
    assert.deepEqual([unknown.status, unknown.body.error.code], [200, -32_602]);
    assert.match(unknown.body.error.message, /Unknown tool: no\.such\.tool/);
    for (const name of ['fs.read', 'cmd.run']) {
      assert.equal((await post(at.url, callOf(name, { path: '/workspace/x' }))).body.error.code, -32_602);
    }
    const invalid = await post(at.url, callOf('svc.tools.search', { query: 7 }));
    assert.equal(invalid.body.error.code, -32_602);
    assert.equal(invalid.body.error.data.reason, 'InvalidArguments');
    assert.match(invalid.body.error.message, /query/);
    const narrow = await post(at.url, callOf('wild.echo', {}, 1), { token: 'consumer' });
    assert.equal(narrow.body.error.data.reason, 'ToolNotAllowed');
    const denied = await post(at.url, callOf('wild.crash'));
    assert.deepEqual([denied.body.error.code, denied.body.error.data.reason], [-32_602, 'ToolExplicitlyDenied']);
    const task = await post(at.url, rpc('tools/call', { name: 'wild.echo', arguments: {}, task: { ttl: 1_000 } }));
    assert.match(task.body.error.message, /does not support task creation/);
    assert.equal((await post(at.url, rpc('sampling/createMessage'))).body.error.code, -32_601);
  });

  test('parameters of the wrong shape are refused as such, in one line, and are no error of the node', async () => {
    const wrong: [method: string, params: unknown, text: RegExp][] = [
      ...[null, [], 'x', 5].map((given): [string, unknown, RegExp] => [
        'tools/call',
        { name: 'wild.echo', arguments: given },
        /^Invalid params: params\.arguments: .+$/,
      ]),
      ['tools/call', { arguments: {} }, /^Invalid params: params\.name: .+$/],
      ['tools/call', undefined, /^Invalid params: params: .+$/],
      ['tools/list', { cursor: 7 }, /^Invalid params: params\.cursor: .+$/],
      ['resources/read', {}, /^Invalid params: params\.uri: .+$/],
      ['prompts/get', { name: 'x', arguments: { a: 1 } }, /^Invalid params: params\.arguments\.a: .+$/],
      ['initialize', {}, /^Invalid params: params\.protocolVersion: .+$/],
    ];
    for (const [method, params, text] of wrong) {
      const { status, body } = await post(at.url, { jsonrpc: '2.0', id: 'a', method, params });
      assert.deepEqual([status, body.id, body.error?.code], [200, 'a', -32_602], `${method} ${JSON.stringify(params)}`);
      assert.match(body.error.message, text);
    }
  });

  test('an error of a tool is a result with isError', async () => {
    const { body } = await post(at.url, callOf('wild.error'));
    assert.equal(body.result.isError, true);
    assert.match(body.result.content[0].text, /no, and my key/);
  });

  test('a caller without a valid token reaches no tool, and a reader none that it may not use', async () => {
    for (const token of [null, 'nobody', '']) {
      const { status, headers } = await post(at.url, callOf('wild.echo'), { token });
      assert.equal(status, 401);
      assert.match(headers.get('www-authenticate') ?? '', /^Bearer/);
    }
    assert.equal((await post(at.url, initialize('2025-06-18'), { token: 'reader' })).status, 200);
    const { body } = await post(at.url, callOf('wild.echo'), { token: 'reader' });
    assert.match(JSON.stringify(body), /not_found|unknown|not offered|nknown tool/i);
  });

  test('other methods, types and bodies are refused with a message', async () => {
    const authorization = 'Bearer operator';
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const response = await fetch(at.url, { method, headers: { authorization, accept: 'text/event-stream' } });
      assert.deepEqual([response.status, response.headers.get('allow')], [405, 'POST']);
    }
    for (const accept of ['application/json', 'text/event-stream', '*/*']) {
      const { status, body } = await post(at.url, rpc('tools/list'), { headers: { accept } });
      assert.equal(status, 406);
      assert.match(body.error.message, /must accept both application\/json and text\/event-stream/);
    }
    const text = await post(at.url, 'hello', { headers: { 'content-type': 'text/plain' } });
    assert.equal(text.status, 415);
    const packed = await post(at.url, rpc('ping'), { headers: { 'content-encoding': 'gzip' } });
    assert.deepEqual([packed.status, packed.body.error], [415, 'unsupported_media_type']);
    assert.match(packed.body.message, /^content-encoding: expected identity/);
    const deep = `${'['.repeat(200)}${']'.repeat(200)}`;
    for (const [body, code] of [
      ['', -32_700],
      ['{"jsonrpc"', -32_700],
      ['"text"', -32_700],
      ['{}', -32_700],
      [`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":${deep}}}`, -32_700],
      [[rpc('tools/list')], -32_600],
    ] as const) {
      const answer = await post(at.url, body);
      assert.deepEqual([answer.status, answer.body.error.code, answer.body.id], [400, code, null]);
    }
    for (const [message, expected] of [
      ['text', /: expected an object$/],
      [{}, /: jsonrpc: expected "2\.0"$/],
      [{ jsonrpc: '2.0', id: 1 }, /: method: required$/],
      [{ ...rpc('ping'), method: 5 }, /: method: expected text$/],
      ...[null, true, 1.5, {}, 2 ** 60].map((id) => [
        rpc('ping', undefined, id),
        /: id: expected text or a whole number$/,
      ]),
      [{ ...rpc('ping'), params: [] }, /: params: expected an object$/],
    ] as [unknown, RegExp][]) {
      const answer = await post(at.url, JSON.stringify(message));
      assert.deepEqual([answer.status, answer.body.error.code], [400, -32_700], JSON.stringify(message));
      assert.match(answer.body.error.message, expected);
    }
    const large = await post(at.url, callOf('wild.echo', { text: 'x'.repeat(5 * 1024 * 1024) }));
    assert.equal(large.status, 413);
  });

  test('each call is a session of its own, with an audit chain that ends', async () => {
    const filter = { limit: 1_000 };
    const before = (await at.sessions.list('svc-system', filter)).items.map(({ session_id: id }) => id);
    await post(at.url, callOf('wild.echo', { text: 'audited' }));
    // Sessions of the calls before this one may be listed after it was made.
    const [session, chain] = await waitUntil(
      'a session that holds the one tool which is called is listed',
      async () => {
        for (const found of (await at.sessions.list('svc-system', filter)).items) {
          if (before.includes(found.session_id) || found.status !== 'closed') continue;
          const events = await at.sessions.audit('svc-system', found.session_id);
          const { tools } = z.object({ tools: z.array(z.object({ name: z.string() })) }).parse(events[0]?.body);
          if (tools.map(({ name }) => name).join() === 'wild.echo') return [found, events] as const;
        }
        return null;
      },
    );
    assert.deepEqual([session.source, session.execution_id, session.calls], ['mcp', null, 1]);
    const kinds = chain.map(({ body }) => z.object({ kind: z.string() }).parse(body).kind);
    assert.deepEqual(kinds.slice(-3), ['decided', 'ended', 'closed']);
  });
});

describe('a client that gives up, or a tool that never ends', () => {
  test('the wait is bounded, and the answer says that the tool goes on', async () => {
    await using at = await mcpServer({ callTimeoutMs: 500 });
    await at.behind.servers.tools();
    const { status, body } = await post(at.url, callOf('wild.hang'));
    assert.deepEqual([status, body.result.isError], [200, true]);
    assert.match(body.result.content[0].text, /deadline_exceeded: no result within 500 ms/);
  });
});

describe('a node without authentication', () => {
  test('serves local clients and refuses pages of other sites', async () => {
    await using at = await mcpServer({ authenticator: createAuthenticator({ realms: [] }) });
    const list = (headers: Record<string, string>) => post(at.url, rpc('tools/list'), { token: null, headers });
    assert.equal((await list({})).status, 200);
    for (const origin of ['http://localhost:3000', 'http://127.0.0.1:8080', 'http://[::1]']) {
      assert.equal((await list({ origin })).status, 200, origin);
    }
    for (const origin of ['https://evil.example', 'http://localhost.evil.example', 'null', 'http://10.0.0.7']) {
      assert.equal((await list({ origin })).status, 403, origin);
    }
  });
});

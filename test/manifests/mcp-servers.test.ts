import assert from 'node:assert/strict';
import { test } from 'node:test';
import { McpServers } from '../../manifests/node/tools.ts';

/** Where and what is wrong; empty: nothing. */
const problems = (...servers: object[]): string[] =>
  McpServers.safeParse(servers).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];

test('an MCP server is a program or a URL, each with what belongs to it', () => {
  assert.deepEqual(
    problems({ name: 'a', executable: 'x', environment: { A_1: 'b' }, credentials: { KEY: 'env:K' } }),
    [],
  );
  const http = { name: 'a', url: 'https://h/mcp', credentials: { bearer: 'env:T' }, headers: { 'x-key': 'secret:k' } };
  assert.deepEqual(problems(http), []);
  assert.deepEqual(problems({ name: 'a' }), ['0.executable: expected either executable or url']);
  assert.deepEqual(problems({ ...http, executable: 'x' }), ['0.executable: expected either executable or url']);
  for (const [more, field] of [
    [{ args: ['x'] }, 'args'],
    [{ environment: { A: 'b' } }, 'environment'],
    [{ credentials: { KEY: 'x' } }, 'credentials'],
    [{ headers: { 'bad name': 'x' } }, 'headers'],
  ] as const) {
    assert.match(problems({ ...http, ...more })[0] ?? '', new RegExp(`^0\\.${field}: `));
  }
  assert.match(problems({ name: 'a', executable: 'x', headers: { a: 'b' } })[0] ?? '', /^0\.headers: /);
  assert.match(problems({ name: 'a', executable: 'x', environment: { 'A=B': 'c' } })[0] ?? '', /^0\.environment: /);
});

test('an MCP server has a name that may begin the name of a tool, and no two have one', () => {
  for (const name of ['fs', 'web', 'cmd', 'svc', 'a.b', 'a b', 'ü', '', 'x'.repeat(49)]) {
    assert.notDeepEqual(problems({ name, executable: 'x' }), [], name);
  }
  for (const name of ['filesystem', 'web-search', 'A_1', 'x'.repeat(48)]) {
    assert.deepEqual(problems({ name, executable: 'x' }), [], name);
  }
  const same = { name: 'a', executable: 'x' };
  assert.deepEqual(problems(same, same), ['1.name: already used by mcp_servers[0]']);
});

test('the URL of an MCP server shows no password and is one', () => {
  for (const url of ['ftp://h', 'h:80', 'http://u:p@h/', '/mcp']) {
    const [problem] = problems({ name: 'a', url });
    assert.match(problem ?? '', /^0\.url: /);
    assert.ok(!problem?.includes('u:p'));
  }
});

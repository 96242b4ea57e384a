import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditOf, auditStore, entriesOf } from '../../security/audit/audit-store.ts';
import { mcpServer, post } from './mcp-server.ts';

test('a tool that a caller calls leaves one entry over /mcp and over /v1/tools, and tools that read leave none', async () => {
  await using store = await auditStore();
  const { audit } = auditOf(store.blocks);
  await using at = await mcpServer({ audit, denied: ['wild.crash'] });
  const overMcp = (name: string, args: object) =>
    post(at.url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
  const overRest = (name: string, args: object) =>
    at.rest.postJson(`/v1/tools/${name}`, args, { authorization: 'Bearer operator' });
  for (const call of [overMcp, overRest]) {
    await call('svc.tools.search', { query: 'canary' });
    await call('wild.error', { text: 'canary' });
    await call('wild.crash', {});
  }
  await audit.close('the test ends', 5_000);
  const entries = await entriesOf(store.blocks);
  assert.deepEqual(
    entries.map(({ operation, subject, target, outcome, error, reason, via, count }) => {
      return [operation, subject, target, outcome, error, reason, via, count];
    }),
    [
      ['tools.call', 'o', 'wild.error', 'failed', 'tool_failed', null, 'tool', 1],
      ['tools.call', 'o', 'wild.crash', 'denied', 'forbidden', 'ToolExplicitlyDenied', 'tool', 1],
      ['tools.call', 'o', 'wild.error', 'failed', 'tool_failed', null, 'tool', 1],
      ['tools.call', 'o', 'wild.crash', 'denied', 'forbidden', 'ToolExplicitlyDenied', 'tool', 1],
    ],
  );
  assert.equal(JSON.stringify(entries).includes('canary'), false);
});

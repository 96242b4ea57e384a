import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ARCHIVED_ACTORS } from '../../../runtime/projection/archive.ts';
import { checkedDocuments } from '../../support/over-documents.ts';
import { mcpServer, post } from './mcp-server.ts';

test('the archive is not searched for the session of a call, whose id was made for it', async () => {
  const asked: string[] = [];
  await using at = await mcpServer({
    documents: (inner) =>
      checkedDocuments(inner, (method, { name }) => {
        if (name === ARCHIVED_ACTORS.name && method === 'get') asked.push(name);
      }),
  });
  asked.length = 0;
  const params = { name: 'svc.tools.search', arguments: { query: 'canary' } };
  const { body } = await post(at.url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  assert.equal(body.result.isError, false);
  await at.rest.postJson('/v1/tools/svc.tools.search', { query: 'canary' }, { authorization: 'Bearer operator' });
  assert.deepEqual(asked, []);
});

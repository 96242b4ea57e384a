import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ProductNode } from './product-node.ts';

let node: ProductNode;
before(async () => {
  node = await ProductNode.start();
});
after(() => node[Symbol.asyncDispose]());

async function keyWith(scopes: readonly string[]): Promise<string> {
  const { status, body, text } = await node.json('POST', '/v1/api-keys', { name: scopes.join(' '), scopes });
  assert.equal(status, 200, text);
  return String(body.key);
}

/** Status of the feed; the connection is closed at once. */
async function feedStatus(key: string, query: string): Promise<number> {
  const left = new AbortController();
  const headers = { accept: 'text/event-stream', authorization: `Bearer ${key}` };
  const { status } = await fetch(`${node.url}/v1/feed${query}`, { headers, signal: left.signal });
  left.abort();
  return status;
}

test('a key follows only the topics that its scopes reach', async () => {
  const runs = await keyWith(['executions:read']);
  assert.equal(await feedStatus(runs, ''), 200);
  assert.equal(await feedStatus(runs, '?topic=run'), 200);
  assert.equal(await feedStatus(runs, '?topic=approval'), 403);
  assert.equal(await feedStatus(runs, '?topic=run&topic=node'), 403);
  const all = await keyWith(['executions:read', 'approvals:read', 'cluster:read']);
  assert.equal(await feedStatus(all, '?topic=approval&topic=node'), 200);
});

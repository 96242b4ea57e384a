import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../../runtime/json.ts';
import { loadSdk } from '../../../transport/mcp/sdk.ts';
import { plainCall } from '../../../transport/mcp/tool-call.ts';

const HEADERS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json; charset=utf-8' };
const PARAMS = {
  name: 'svc.task.wait',
  arguments: { execution_id: 'a', more: [1, null] },
  _meta: { progressToken: 7 },
};
const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: PARAMS };

test('a plain tool call is taken as it is, with its id, arguments and metadata', async () => {
  const sdk = await loadSdk();
  assert.deepEqual(plainCall(sdk, HEADERS, CALL), { params: PARAMS, id: 1 });
  const versioned = { ...HEADERS, 'mcp-protocol-version': '2025-06-18' };
  assert.deepEqual(plainCall(sdk, versioned, { ...CALL, id: 'x', params: { name: 'a' } }), {
    params: { name: 'a' },
    id: 'x',
  });
});

test('whatever the SDK may refuse or answers itself is left to it', async () => {
  const sdk = await loadSdk();
  const { id: _id, ...notification } = CALL;
  const messages: Json[] = [
    ...[
      { ...CALL, method: 'tools/list' },
      notification,
      { ...CALL, id: 1.5 },
      { ...CALL, id: null },
      [CALL],
      'x',
      null,
    ],
    ...[
      { ...CALL, jsonrpc: '1.0' },
      { ...CALL, more: 1 },
      { ...CALL, params: { arguments: {} } },
      { ...CALL, params: [] },
    ],
    { ...CALL, params: { name: 'a', arguments: [] } },
    { ...CALL, params: { ...PARAMS, task: { ttl: 1 } } },
  ];
  for (const message of messages) assert.equal(plainCall(sdk, HEADERS, message), null, JSON.stringify(message));
  const headers = [
    ...[
      { ...HEADERS, accept: 'application/json' },
      { ...HEADERS, accept: 'text/event-stream' },
      { 'content-type': 'application/json' },
    ],
    ...[
      { ...HEADERS, 'content-type': 'application/jsonp' },
      { ...HEADERS, 'mcp-protocol-version': '1999-01-01' },
    ],
  ];
  for (const given of headers) assert.equal(plainCall(sdk, given, CALL), null, JSON.stringify(given));
});

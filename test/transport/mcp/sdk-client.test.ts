import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { mcpScene } from './scene.ts';

async function connect(url: string, token: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

describe('the official SDK, against /mcp', () => {
  test('connects, lists and calls, many calls at once', async () => {
    await using at = await mcpScene();
    await at.behind.servers.tools();
    const client = await connect(at.url, 'operator');
    try {
      assert.deepEqual(client.getServerVersion(), { name: 'svc', version: '0.0.1-test' });
      const { tools } = await client.listTools();
      assert.ok(tools.some(({ name }) => name === 'wild.echo'));
      const said = await Promise.all(
        Array.from({ length: 20 }, (_, n) => client.callTool({ name: 'wild.echo', arguments: { text: `n${n}` } })),
      );
      assert.deepEqual(
        said.map(({ content }) => JSON.stringify(content).includes('cancelled=0')),
        said.map(() => true),
      );
      const { structuredContent } = await client.callTool({ name: 'svc.tools.list', arguments: {} });
      assert.deepEqual(
        Object.keys(structuredContent as object).sort((a, b) => a.localeCompare(b)),
        ['tool', 'tools', 'total'],
      );
      await assert.rejects(
        client.callTool({ name: 'nobody.knows' }),
        (error) => error instanceof McpError && error.code === -32_602,
      );
    } finally {
      await client.close();
    }
  });

  test('sees what its own caller may use: a consumer has no tools of the node’s servers', async () => {
    await using at = await mcpScene();
    await at.behind.servers.tools();
    const client = await connect(at.url, 'consumer');
    try {
      const names = (await client.listTools()).tools.map(({ name }) => name);
      assert.ok(names.includes('web.fetch'));
      assert.ok(!names.some((name) => name.startsWith('wild.') || name.startsWith('fs.')));
    } finally {
      await client.close();
    }
  });

  test('without a token it cannot connect', async () => {
    await using at = await mcpScene();
    await assert.rejects(connect(at.url, 'nobody'));
  });
});

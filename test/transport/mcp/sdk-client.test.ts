import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { aliasesOf, toolNamed } from '../../../transport/mcp/tool-aliases.ts';
import { mcpServer } from './mcp-server.ts';

async function connect(url: string, token: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

describe('the official SDK, against /mcp', () => {
  test('connects, lists and calls, many calls at once', async () => {
    await using at = await mcpServer();
    await at.behind.servers.tools();
    const client = await connect(at.url, 'operator');
    try {
      assert.deepEqual(client.getServerVersion(), { name: 'svc', version: '0.0.1-test' });
      const { tools } = await client.listTools();
      assert.ok(tools.some(({ name }) => name === 'wild_echo'));
      const said = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          client.callTool({ name: n % 2 === 0 ? 'wild.echo' : 'wild_echo', arguments: { text: `n${n}` } }),
        ),
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
    await using at = await mcpServer();
    await at.behind.servers.tools();
    const client = await connect(at.url, 'consumer');
    try {
      const names = (await client.listTools()).tools.map(({ name }) => name);
      assert.ok(names.includes('web_fetch'));
      assert.ok(!names.some((name) => name.startsWith('wild_') || name.startsWith('fs_')));
    } finally {
      await client.close();
    }
  });

  test('no name that is listed has a character that strict clients refuse, and each stands for one tool', async () => {
    await using at = await mcpServer();
    await at.behind.servers.tools();
    const client = await connect(at.url, 'operator');
    try {
      const names = (await client.listTools()).tools.map(({ name }) => name);
      assert.deepEqual(
        names.filter((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name)),
        [],
      );
      assert.equal(new Set(names).size, names.length);
    } finally {
      await client.close();
    }
    const long = `svc.${'x'.repeat(80)}`;
    const aliases = aliasesOf(['a_b.c', 'a.b_c', long, 'plain'], 'alias');
    assert.equal(new Set(aliases.values()).size, 4);
    for (const [name, alias] of aliases) {
      assert.match(alias, /^[a-zA-Z0-9_-]{1,64}$/);
      assert.equal(toolNamed(alias, [...aliases.keys()]), name);
    }
    assert.equal(aliases.get('plain'), 'plain');
    assert.equal(aliasesOf(['a.b'], 'dotted').get('a.b'), 'a.b');
  });

  test('has instructions, prompts with arguments, and resources for the tools that the caller is offered', async () => {
    await using at = await mcpServer();
    const client = await connect(at.url, 'operator');
    try {
      assert.match(client.getInstructions() ?? '', /svc_trace_why/);
      const { prompts } = await client.listPrompts();
      assert.deepEqual(
        prompts.map(({ name }) => name),
        ['write_agent', 'run_workflow', 'why'],
      );
      const { messages } = await client.getPrompt({ name: 'why', arguments: { execution_id: 'r-1' } });
      assert.match(JSON.stringify(messages), /the run r-1 of svc/);
      await assert.rejects(client.getPrompt({ name: 'why' }), /execution_id: required/);
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.ok(resourceTemplates.some(({ uriTemplate }) => uriTemplate === 'svc://runs/{execution_id}/log'));
      await assert.rejects(client.readResource({ uri: 'svc://nothing' }), /Resource not found/);
      await assert.rejects(client.readResource({ uri: 'file:///etc/passwd' }), /Resource not found/);
    } finally {
      await client.close();
    }
  });

  test('without a token it cannot connect', async () => {
    await using at = await mcpServer();
    await assert.rejects(connect(at.url, 'nobody'));
  });
});

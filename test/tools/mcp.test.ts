import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createSecurityContexts } from '../../security/policy/contexts.ts';
import { everything, type McpUnderTest, mcpUnderTest } from '../effects/mcp/mcp-servers.ts';
import { everyTool, type ToolsUnderTest, toolsUnderTest } from './granted-tools.ts';

describe('tools of the official MCP server', () => {
  let mcp: McpUnderTest;
  let bench: ToolsUnderTest;
  before(async () => {
    mcp = await mcpUnderTest([everything()]);
    await mcp.until('everything', 'ready');
    const contexts = createSecurityContexts([], { mcpServers: ['everything'] });
    const manifest = ['everything'].map((name) => ({ name, server: `mcp:${name}`, config: {} }));
    bench = await toolsUnderTest({
      granter: { mcp: mcp.servers, contexts },
      effect: { mcp: { servers: mcp.servers, timeoutMs: () => 5_000 } },
      request: everyTool({ manifest }),
    });
  });
  after(async () => {
    await bench[Symbol.asyncDispose]();
    await mcp[Symbol.asyncDispose]();
  });
  const call = (tool: string, given: Parameters<ToolsUnderTest['call']>[1]) =>
    bench.call(`everything.${tool}`, given, { server: 'everything' });

  test('are offered under SERVER.TOOL and answer what the server answers', async () => {
    const echo = bench.grant.tools.find(({ name }) => name === 'everything.echo');
    assert.equal(echo?.source, 'mcp');
    const { is_error, content } = await call('echo', { message: 'hello' });
    assert.equal(is_error, false);
    assert.match(String(content[0]?.text), /hello/);
  });

  test('that fail are results of class recoverable', async () => {
    const { is_error, error } = await call('echo', { message: 1 });
    assert.deepEqual([is_error, error?.class], [true, 'recoverable']);
  });

  test('are not run with another schema than the pinned one', async () => {
    const more = { server: 'everything', schemaHash: '1'.repeat(64) };
    assert.equal((await bench.call('everything.echo', { message: 'x' }, more)).error?.code, 'ToolChanged');
  });
});

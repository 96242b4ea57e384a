import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { code, mcpUnderTest, ours } from './mcp-servers.ts';

describe('the list of a server that sends invalid tools', () => {
  test('the list of a server with invalid tools has only the valid ones, and the log names the faults of the others', async () => {
    await using setup = await mcpUnderTest([ours('nonsense')]);
    const tools = await setup.servers.tools();
    assert.equal(tools.length, 500);
    assert.deepEqual(
      tools.slice(0, 3).map(({ tool, reads, repeatable, skipJudge }) => [tool, reads, repeatable, skipJudge]),
      [
        ['good', true, true, false],
        ['again', false, true, false],
        ['page-1-0', false, false, false],
      ],
    );
    assert.equal(tools[0]?.description.length, 4_096);
    const line = setup.logged.find((text) => text.includes('cannot be offered')) ?? '';
    for (const why of [
      'listed twice',
      'other characters',
      'longer than 64',
      'deeper than 32',
      'larger than 65536',
      'not of type object',
      'requires tasks',
      'description is invalid: name',
      'description is invalid: inputSchema',
    ]) {
      assert.ok(line.includes(why), why);
    }
  });

  test('an answer that is not a result of MCP is an error', async () => {
    await using setup = await mcpUnderTest([ours('nonsense')]);
    await setup.servers.tools();
    await assert.rejects(setup.call('nonsense.good'), code('tool_failed'));
    await assert.rejects(setup.call('nonsense.again'), code('tool_failed'));
    assert.equal(setup.servers.status()[0]?.status, 'ready');
  });

  test('capabilities narrow the list, and name the tools that no judge checks', async () => {
    const capabilities = ['good', { name: 'again', skip_judge: true }, 'not-there'];
    await using setup = await mcpUnderTest([ours('nonsense', { capabilities })]);
    const tools = await setup.servers.tools();
    assert.deepEqual(
      tools.map(({ tool, skipJudge }) => [tool, skipJudge]),
      [
        ['good', false],
        ['again', true],
      ],
    );
    await assert.rejects(setup.call('nonsense.page-1-0'), code('not_found'));
  });
});

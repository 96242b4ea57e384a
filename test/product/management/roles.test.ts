import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { someOf } from '../../support/size.ts';
import { MANAGEMENT_ROWS } from '../../tools/management/rows.ts';
import type { Setting } from '../../tools/management/setting.ts';
import { SPECIFIED_TOOLS } from '../../tools/specified-tools.ts';
import { ManagementCallers } from './callers.ts';
import { callOf, settingOf } from './row-call.ts';
import { sameAnswer } from './same-answer.ts';

const ROWS = MANAGEMENT_ROWS.filter(({ by }) => by !== undefined);

/** Marks of the context of each caller at /mcp (specified-tools.ts). */
const MARKS = { user: 'F', stranger: 'F', service: 'D' } as const;
const marksOf = (tool: string): string => Object.values(SPECIFIED_TOOLS).find((table) => tool in table)?.[tool] ?? '';

describe(`management tools: ${ROWS.length} rows of callers, the same answer over SEAL REST, gRPC and /mcp`, () => {
  let callers: ManagementCallers;
  let at: Setting;
  before(async () => {
    callers = await ManagementCallers.open();
    const [client] = callers.of('operator');
    at = settingOf(client ?? assert.fail(), 'alpha');
  });
  after(() => callers[Symbol.asyncDispose]());

  for (const row of someOf(ROWS, 8)) {
    const { tool, what, by = assert.fail() } = row;
    test(`${tool} ${what}`, async () => {
      const isOffered = marksOf(tool).includes(MARKS[by]);
      const calls = callers.of(by).map(async (client) => {
        if (isOffered || client.name !== '/mcp') return callOf(row, client, at);
        const given = typeof row.args === 'function' ? await row.args(at) : row.args;
        const { reason, text } = await client.call(tool, given);
        assert.deepEqual([reason, text], ['ToolNotAllowed', `Unknown tool: ${tool}`]);
        return null;
      });
      sameAnswer((await Promise.all(calls)).filter((called) => called !== null));
    });
  }

  test('the context of a tier drops version and force, a configured one does not', async () => {
    const { name } = await at.workflow();
    await at.ok('svc.workflow.update', { manifest_yaml: at.workflowYaml(name, '1.1.0') });
    for (const client of callers.of('user')) {
      const { structured, text } = await client.call('svc.workflow.run', { name, version: '1.0.0' });
      assert.equal(structured.status, 'started', text);
      const got = await client.call('svc.workflow.executions.get', { execution_id: structured.execution_id });
      assert.equal(got.structured.workflow_version, client.name === '/mcp' ? '1.1.0' : '1.0.0', client.name);
    }
    const manifest_yaml = at.workflowYaml(name, '1.1.0', { description: 'is another' });
    for (const client of callers.of('operator')) {
      const { isError, text } = await client.call('svc.workflow.update', { manifest_yaml, force: true });
      assert.deepEqual(
        [isError, /^conflict: /.test(text)],
        client.name === '/mcp' ? [true, true] : [false, false],
        text,
      );
    }
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MANAGEMENT_ARGUMENTS } from '../../tools/management/argument-table.ts';
import { EXECUTE_ROWS } from '../../tools/management/execute-rows.ts';
import { AGENT_AND_TASK_ROWS } from '../../tools/management/rows.ts';
import { Setting } from '../../tools/management/setting.ts';
import { WORKFLOW_ROWS } from '../../tools/management/workflow-rows.ts';
import { type Args, ManagementNode, type ToolDoor } from './management-node.ts';

/** Who calls is the operator of the node: rows for others are for the areas (test/tools/management). */
const ROWS = [...AGENT_AND_TASK_ROWS, ...WORKFLOW_ROWS, ...EXECUTE_ROWS].filter(({ by }) => by === undefined);

const without = (given: Args, field: string): Args =>
  Object.fromEntries(Object.entries(given).filter(([key]) => key !== field));

/** Arguments that break a rule, and the argument each names. */
const REFUSED = Object.entries(MANAGEMENT_ARGUMENTS).flatMap(([tool, { right, required, wrong }]) => [
  ...required.flatMap((field) => [
    { tool, args: without(right, field), field },
    { tool, args: { ...right, [field]: null }, field },
  ]),
  // One of each rule: the whole table is for the policy (test/tools/management).
  ...Object.entries(wrong).map(([field, [value]]) => ({ tool, args: { ...right, [field]: value }, field })),
  { tool, args: { ...right, path_: 1 }, field: 'path_' },
]);

describe(`management tools: ${ROWS.length} rows and ${REFUSED.length} refused calls over each of SEAL REST, gRPC, /mcp`, () => {
  let node: ManagementNode;
  before(async () => {
    node = await ManagementNode.start();
  });
  after(() => node[Symbol.asyncDispose]());

  const settingOf = (door: ToolDoor): Setting =>
    new Setting(async (tool, args) => {
      const called = await door.call(tool, args);
      assert.equal(called.isError, false, `${tool}: ${called.text} ${called.reason ?? ''}`);
      return called.structured;
    });

  for (const { tool, what, args, gives } of ROWS) {
    test(`${tool} ${what}`, async () => {
      const throughDoor = async (door: ToolDoor): Promise<void> => {
        const at = settingOf(door);
        const given = typeof args === 'function' ? await args(at) : args;
        const called = await door.call(tool, given);
        const said = `${door.name}: ${JSON.stringify(called)}`;
        if (typeof gives === 'function') {
          assert.equal(called.isError, false, said);
          assert.deepEqual(JSON.parse(called.text), called.structured, 'the text is the result as JSON');
          await gives(called.structured, given, at);
        } else {
          const [code, text] = gives;
          assert.equal(called.isError, true, said);
          assert.ok(called.text.startsWith(`${code}: `), said);
          assert.match(called.text.slice(code.length + 2), text);
        }
      };
      await Promise.all(node.doors.map(throughDoor));
    });
  }

  test('arguments that break a rule are refused by name before anything runs', async () => {
    const throughDoor = async (door: ToolDoor): Promise<void> => {
      for (const { tool, args, field } of REFUSED) {
        const called = await door.call(tool, args);
        const said = `${door.name} ${tool} ${JSON.stringify(args).slice(0, 200)}: ${JSON.stringify(called)}`;
        assert.deepEqual([called.isError, called.reason], [undefined, 'InvalidArguments'], said);
        assert.ok(called.text.includes(`${tool}: ${field}`), said);
      }
    };
    await Promise.all(node.doors.map(throughDoor));
  });
});

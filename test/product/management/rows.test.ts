import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ARGUMENT_ROWS, type ArgumentRow } from '../../tools/management/argument-rows.ts';
import type { Row } from '../../tools/management/row.ts';
import { MANAGEMENT_ROWS } from '../../tools/management/rows.ts';
import { Setting } from '../../tools/management/setting.ts';
import { type Called, ManagementNode, type ToolDoor } from './management-node.ts';
import { sameAnswer } from './same-answer.ts';

/** Who calls is the operator of the node: rows for others are in roles.test.ts. */
const ROWS = MANAGEMENT_ROWS.filter(({ by }) => by === undefined);
const TOOLS = Object.entries(Object.groupBy(ARGUMENT_ROWS, ({ tool }) => tool));
const AT_ONCE = 8;
const COUNTS = `${ROWS.length} rows of what they do and ${ARGUMENT_ROWS.length} of their arguments`;

describe(`management tools: ${COUNTS}, the same answer over each of SEAL REST, gRPC, /mcp`, () => {
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
    }, 'svc-system');

  async function throughDoor(door: ToolDoor, { tool, args, gives, leaves }: Row): Promise<Called> {
    const at = settingOf(door);
    const given = typeof args === 'function' ? await args(at) : args;
    const called = await door.call(tool, given);
    const said = `${door.name}: ${JSON.stringify(called)}`;
    if (typeof gives === 'function') {
      assert.equal(called.isError, false, said);
      assert.deepEqual(JSON.parse(called.text), called.structured, 'the text is the result as JSON');
      await gives(called.structured, given, at);
      return called;
    }
    const [code, text] = gives;
    assert.equal(called.isError, true, said);
    assert.ok(called.text.startsWith(`${code}: `), said);
    assert.match(called.text.slice(code.length + 2), text);
    await leaves?.(given, at);
    return called;
  }

  for (const row of ROWS) {
    test(`${row.tool} ${row.what}`, async () => {
      sameAnswer(await Promise.all(node.doors.map((door) => throughDoor(door, row))));
    });
  }

  async function checked(door: ToolDoor, { tool, argument, rule, args, isRefused }: ArgumentRow): Promise<Called> {
    const called = await door.call(tool, args);
    const said = `${door.name} ${tool} ${argument} ${rule}: ${JSON.stringify(called).slice(0, 500)}`;
    if (isRefused) {
      assert.deepEqual([called.isError, called.reason], [undefined, 'InvalidArguments'], said);
      assert.ok(called.text.includes(`${tool}: ${argument}`), said);
    } else {
      assert.ok(called.isError !== undefined, said);
      assert.doesNotMatch(called.text, /^internal/, said);
    }
    return called;
  }

  for (const [tool, rows = []] of TOOLS) {
    test(`${tool} refuses arguments that break one of ${rows.length} rules before anything runs`, async () => {
      for (let from = 0; from < rows.length; from += AT_ONCE) {
        const some = rows.slice(from, from + AT_ONCE);
        const throughAll = (row: ArgumentRow) => Promise.all(node.doors.map((door) => checked(door, row)));
        for (const calls of await Promise.all(some.map(throughAll))) sameAnswer(calls);
      }
    });
  }
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { someOf } from '../../support/size.ts';
import { ARGUMENT_ROWS, type ArgumentRow } from '../../tools/management/argument-rows.ts';
import { MANAGEMENT_ROWS } from '../../tools/management/rows.ts';
import { type Called, ManagementNode, type ToolClient } from './management-node.ts';
import { callOf, settingOf } from './row-call.ts';
import { sameAnswer } from './same-answer.ts';

/** The caller is the operator of the node: rows for other callers are in roles.test.ts. */
const ROWS = MANAGEMENT_ROWS.filter(({ by }) => by === undefined);
const CHOSEN = someOf(ARGUMENT_ROWS, 24);
const TOOLS = Object.entries(Object.groupBy(CHOSEN, ({ tool }) => tool));
const AT_ONCE = 8;
const COUNTS = `${ROWS.length} rows of what they do and ${CHOSEN.length} of their arguments`;

describe(`management tools: ${COUNTS}, the same answer over SEAL REST, gRPC and /mcp`, () => {
  let node: ManagementNode;
  before(async () => {
    node = await ManagementNode.start();
  });
  after(() => node[Symbol.asyncDispose]());

  for (const row of someOf(ROWS, 24)) {
    test(`${row.tool} ${row.what}`, async () => {
      sameAnswer(await Promise.all(node.clients.map((client) => callOf(row, client, settingOf(client, 'svc-system')))));
    });
  }

  async function checked(client: ToolClient, { tool, argument, rule, args, isRefused }: ArgumentRow): Promise<Called> {
    const called = await client.call(tool, args);
    const said = `${client.name} ${tool} ${argument} ${rule}: ${JSON.stringify(called).slice(0, 500)}`;
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
        const throughAll = (row: ArgumentRow) => Promise.all(node.clients.map((client) => checked(client, row)));
        for (const calls of await Promise.all(some.map(throughAll))) sameAnswer(calls);
      }
    });
  }
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  type Args,
  type ManagementNode,
  managementNode,
  OPERATOR,
  SERVICE,
  STRANGER,
  USER,
} from './management-node.ts';
import { MANAGEMENT_ROWS } from './rows.ts';
import { Setting } from './setting.ts';
import { SPECIFIED_TABLES } from './specified-tables.ts';

const WHO = { operator: OPERATOR, user: USER, stranger: STRANGER, service: SERVICE } as const;

/** As it travels. */
const plain = (args: object): Args => JSON.parse(JSON.stringify(args));

describe(`management tools: ${MANAGEMENT_ROWS.length} rows over areas on one file`, () => {
  let managed: ManagementNode;
  let at: Setting;
  /** `TOOL ARGUMENT` of calls that succeeded. */
  const given = new Set<string>();
  before(async () => {
    managed = await managementNode();
    at = new Setting((tool, args) => managed.ok(tool, plain(args)), OPERATOR.tenant);
  });
  after(() => managed[Symbol.asyncDispose]());

  for (const { tool, what, by = 'operator', args, gives, leaves } of MANAGEMENT_ROWS) {
    test(`${tool} ${what}`, async () => {
      const asked = plain(typeof args === 'function' ? await args(at) : args);
      const outcome = await managed.call(tool, asked, WHO[by]);
      const said = JSON.stringify(outcome);
      if (typeof gives === 'function') {
        assert.ok(!outcome.is_error, said);
        for (const argument of Object.keys(asked)) given.add(`${tool} ${argument}`);
        await gives(outcome.structured ?? {}, asked, at);
        return;
      }
      const [code, text] = gives;
      assert.equal(outcome.error?.code, code, said);
      assert.match(outcome.error?.message ?? '', text);
      await leaves?.(asked, at);
    });
  }

  test('each argument of the specification is used by a row that succeeds', () => {
    const specified = Object.entries(SPECIFIED_TABLES).flatMap(([tool, table]) =>
      Object.keys(table.arguments).map((argument) => `${tool} ${argument}`),
    );
    assert.deepEqual(
      specified.filter((pair) => !given.has(pair)),
      // A volume is made over REST: test/product/intent.
      ['svc.execute.intent volume_id'],
    );
  });
});

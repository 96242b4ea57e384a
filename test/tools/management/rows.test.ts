import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { EXECUTE_ROWS } from './execute-rows.ts';
import { AGENT_AND_TASK_ROWS } from './rows.ts';
import { Setting } from './setting.ts';
import { WORKFLOW_ROWS } from './workflow-rows.ts';
import { type Args, type ManagementWorld, managementWorld, OPERATOR, SERVICE, STRANGER, USER } from './world.ts';

const WHO = { operator: OPERATOR, user: USER, stranger: STRANGER, service: SERVICE } as const;
const ROWS = [...AGENT_AND_TASK_ROWS, ...WORKFLOW_ROWS, ...EXECUTE_ROWS];

/** As it travels. */
const plain = (args: object): Args => JSON.parse(JSON.stringify(args));

describe(`management tools: ${ROWS.length} rows over areas on one file`, () => {
  let world: ManagementWorld;
  let at: Setting;
  before(async () => {
    world = await managementWorld();
    at = new Setting((tool, args) => world.ok(tool, plain(args)));
  });
  after(() => world[Symbol.asyncDispose]());

  for (const { tool, what, by = 'operator', args, gives } of ROWS) {
    test(`${tool} ${what}`, async () => {
      const given = plain(typeof args === 'function' ? await args(at) : args);
      const outcome = await world.call(tool, given, WHO[by]);
      const said = JSON.stringify(outcome);
      if (typeof gives === 'function') {
        assert.ok(!outcome.is_error, said);
        await gives(outcome.structured ?? {}, given, at);
        return;
      }
      const [code, text] = gives;
      assert.equal(outcome.error?.code, code, said);
      assert.match(outcome.error?.message ?? '', text);
    });
  }
});

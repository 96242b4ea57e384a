import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startMongo, type TestMongo } from '../../support/ferretdb.ts';
import { type RedisServer, startRedis } from '../../support/redis.ts';
import { serversMissing } from '../../support/servers-missing.ts';
import { someOf } from '../../support/size.ts';
import { ProductNode } from '../product-node.ts';
import { answerTo, type Question, toolQuestion, unknownFor } from './asker.ts';
import { IsolatedTenants, type Things } from './isolated-tenants.ts';
import { type OwnThings, settleOwn } from './own-things.ts';
import { pathRows } from './path-rows.ts';
import { type Named, ROUTE_ROWS } from './route-table.ts';
import { snapshot } from './snapshot.ts';
import { LIST_ROWS, TOOL_ROWS } from './tool-table.ts';

const skip = serversMissing();

/** A request about an object, wherever its name goes. */
interface Row {
  readonly what: string;
  readonly things: readonly (keyof Named)[];
  readonly question: (name: string) => Question;
}

const rowsOf = (named: Partial<Named>): readonly Row[] => [
  ...[...pathRows(named), ...ROUTE_ROWS].map(({ route: what, things, question }) => ({ what, things, question })),
  ...TOOL_ROWS.map(({ tool, things, args }) => ({
    ...{ what: tool, things },
    question: (name: string) => toolQuestion(tool, args(name)),
  })),
];

/** The tables of the other tests, with some callers: objects that one node wrote are asked for on another. */
describe('the same isolation on Redis and a MongoDB-wire server, from another node', { skip }, () => {
  let redis: RedisServer;
  let mongo: TestMongo;
  let setup: IsolatedTenants;
  let other: ProductNode;
  let alpha: Things;
  let andys: OwnThings;
  before(async () => {
    [redis, mongo] = await Promise.all([startRedis(), startMongo()]);
    setup = await IsolatedTenants.open({
      stores: { redis: redis.url, mongodb: mongo.uri },
      kernel: { effect_concurrency: 256, partitions: 8 },
    });
    other = await ProductNode.start({ spec: setup.tenancy.spec });
    alpha = await setup.settle('alphaAdmin', 'alpha');
    andys = await settleOwn(setup, await setup.callingAgent('alphaUser'), 'andy');
  });
  after(async () => {
    await other[Symbol.asyncDispose]();
    await setup[Symbol.asyncDispose]();
    await redis.stop();
    await mongo.stop();
  });

  async function assertHidden(names: readonly string[], rows: readonly Row[], named: Partial<Named>): Promise<number> {
    const probe = async (name: string): Promise<number> => {
      const asker = setup.asker(name);
      let count = 0;
      for (const { what, things, question } of rows)
        for (const thing of things) {
          const real = named[thing];
          if (real === undefined) continue;
          const none = unknownFor(real);
          const foreign = await answerTo(other, asker, question(real), real);
          assert.equal(foreign, await answerTo(other, asker, question(none), none), `${name}: ${what} of ${thing}`);
          count += 1;
        }
      return count;
    };
    return (await Promise.all(names.map(probe))).reduce((sum, count) => sum + count, 0);
  }

  test('an object of another tenant answers as one that never existed, and stays unchanged', async (t) => {
    const before = await snapshot(setup, 'alphaAdmin', alpha);
    const count = await assertHidden(['betaAdmin', 'key of consumer'], someOf(rowsOf(alpha), 24), alpha);
    t.diagnostic(`${count} pairs of answers were equal`);
    assert.deepEqual(await snapshot(setup, 'alphaAdmin', alpha), before);
  });

  test('a user’s own object answers other users of the tenant as one that never existed', async (t) => {
    const before = await snapshot(setup, 'alphaUser', andys);
    const own: Partial<Named> = { ...andys };
    const count = await assertHidden(['key of alphaOther'], someOf(rowsOf(own), 24), own);
    t.diagnostic(`${count} pairs of answers were equal`);
    assert.deepEqual(await snapshot(setup, 'alphaUser', andys), before);
  });

  test('no list or search shows anything of another tenant, or of another user', async () => {
    const [theirs, andy] = [Object.values(alpha), Object.values(andys)];
    const gets = ['agents', 'executions', 'workflows/executions', 'human-approvals', 'volumes', 'seal/sessions'];
    const questions = [
      ...gets.map((path) => ({ method: 'GET', path: `/v1/${path}` })),
      ...LIST_ROWS.map(({ tool, args }) => toolQuestion(tool, args('own agent flow andy'))),
    ];
    for (const name of ['betaAdmin', 'consumer', 'alphaOther', 'alphaAdmin']) {
      const asker = setup.asker(name);
      const hidden = asker.tenant === 'alpha' ? andy : [...andy, ...theirs];
      for (const question of questions) {
        const text = await answerTo(other, asker, question, 'own agent flow andy');
        const seen = hidden.filter((one) => text.includes(one));
        assert.deepEqual(seen, [], `${name}: ${question.path}`);
      }
    }
  });

  test('owners see their objects on that node', async () => {
    for (const [name, named] of [['alphaAdmin', alpha] as const, ['alphaUser', andys] as const])
      for (const { route, things, question } of pathRows(named).filter(({ route: one }) => one.startsWith('GET ')))
        for (const thing of things) {
          if (route.endsWith('/stream') || (route.endsWith('/files/content') && named === andys)) continue;
          // Files of volumes and secrets are on the node where they were created.
          if (thing === 'volume' || thing === 'secret') continue;
          const { method, path } = question(Object(named)[thing]);
          const { status, text } = await other.call(method, path, { headers: setup.asker(name).headers });
          assert.equal(status, 200, `${name}: ${route} of ${thing}: ${text}`);
        }
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { someOf } from '../../support/size.ts';
import { type Args, type Asker, answerTo, toolQuestion, unknownFor } from './asker.ts';
import type { CallingAgent } from './calling-agent.ts';
import { IsolatedTenants, type Things } from './isolated-tenants.ts';
import { type OwnThings, settleOwn } from './own-things.ts';
import { snapshot } from './snapshot.ts';
import { isOwnable, LIST_ROWS, NAMES_NOTHING, TENANT_ROWS, TOOL_ROWS, type ToolRow } from './tool-table.ts';

/** A way to call tools, and its caller. */
interface Way {
  readonly name: string;
  readonly asker: Asker;
  answer(tool: string, args: Args, asked: string): Promise<string>;
}

/** The callers over SEAL; all others call over REST, some of them with a key. */
const SEAL_CALLERS = ['operator', 'service', 'betaAdmin', 'betaUserNamingAlpha', 'consumer', 'alphaUser', 'alphaOther'];
const BY_REST = ['operatorNamingAlpha', 'readonly', 'service', 'serviceForBeta', 'betaUserNamingAlpha', 'consumer'];
const KEYS = ['key of betaAdmin', 'key of operator', 'key of serviceForBeta'];

const Offers = z.array(
  z.object({ name: z.string(), input_schema: z.object({ properties: z.record(z.string(), z.unknown()).default({}) }) }),
);

describe(`isolation of tenants and users, over ${TOOL_ROWS.length} arguments of tools that name something`, () => {
  let setup: IsolatedTenants;
  let alpha: Things;
  let andys: OwnThings;
  let callingAgents: readonly CallingAgent[];
  before(async () => {
    setup = await IsolatedTenants.open();
    alpha = await setup.settle('alphaAdmin', 'alpha');
    // The other callers have objects of their own, so that their lists are not empty anyway.
    await setup.settle('betaAdmin', 'beta');
    callingAgents = await Promise.all(SEAL_CALLERS.map((name) => setup.callingAgent(name)));
    const andy = callingAgents.find(({ asker }) => asker.name === 'alphaUser') ?? assert.fail();
    andys = await settleOwn(setup, andy, 'andy');
  });
  after(() => setup[Symbol.asyncDispose]());

  const waysOf = (names: readonly string[]): readonly Way[] => [...restOf(names), ...sealWaysOf(names)];
  const strangers = (): readonly Way[] => [
    ...restOf([...BY_REST, ...KEYS]),
    ...sealWaysOf(SEAL_CALLERS.filter((name) => setup.asker(name).tenant !== 'alpha')),
  ];

  function restOf(names: readonly string[]): readonly Way[] {
    return names
      .map((name) => setup.asker(name))
      .map((asker) => ({
        ...{ name: `REST as ${asker.name}`, asker },
        answer: (tool: string, args: Args, asked: string) =>
          answerTo(setup.tenancy.node, asker, toolQuestion(tool, args), asked),
      }));
  }

  function sealWaysOf(names: readonly string[]): readonly Way[] {
    return callingAgents
      .filter(({ asker }) => names.includes(asker.name))
      .map((agent) => ({
        ...{ name: `SEAL as ${agent.asker.name}`, asker: agent.asker },
        answer: agent.answer.bind(agent),
      }));
  }

  /** With that name every argument answers as with an unknown name. */
  async function assertHidden(ways: readonly Way[], rows: readonly ToolRow[], nameOf: (thing: keyof Things) => string) {
    const asked = await Promise.all(
      ways.map(async ({ name: way, answer }) => {
        let count = 0;
        for (const { tool, field, things, args } of rows)
          for (const thing of things) {
            const real = nameOf(thing);
            const none = unknownFor(real);
            const foreign = await answer(tool, args(real), real);
            assert.equal(foreign, await answer(tool, args(none), none), `${way}: ${tool} ${field} of ${thing}`);
            count += 1;
          }
        return count;
      }),
    );
    return asked.reduce((sum, count) => sum + count, 0);
  }

  test('the table has every argument of svc.* that names something', async () => {
    const { body } = await setup.ask('operator', 'GET', '/v1/tools?schemas=true');
    const offers = Offers.parse(body.tools).filter(({ name }) => name.startsWith('svc.'));
    assert.ok(offers.length > 40, `${offers.length} tools`);
    const known = new Set([
      ...TOOL_ROWS.map(({ tool, field }) => `${tool} ${field}`),
      ...TENANT_ROWS.map(({ tool }) => `${tool} tenant_id`),
    ]);
    const missing = offers.flatMap(({ name, input_schema }) =>
      Object.keys(input_schema.properties)
        .map((field) => [field, `${name} ${field}`] as const)
        .filter(([field, both]) => !known.has(both) && !NAMES_NOTHING.has(field) && !NAMES_NOTHING.has(both))
        .map(([, both]) => both),
    );
    assert.deepEqual(missing, []);
  });

  test('an object of another tenant answers as one that never existed, to callers of every kind, and stays unchanged', async (t) => {
    const before = await snapshot(setup, 'alphaAdmin', alpha);
    const count = await assertHidden(strangers(), someOf(TOOL_ROWS, 24), (thing) => alpha[thing]);
    t.diagnostic(`${count} pairs of answers were equal`);
    assert.deepEqual(await snapshot(setup, 'alphaAdmin', alpha), before);
  });

  test('a user’s own object answers other users of the tenant as one that never existed, and stays unchanged', async (t) => {
    const before = await snapshot(setup, 'alphaUser', andys);
    const names = ['alphaOther', 'alphaReader', 'serviceForAlpha', 'key of alphaOther'];
    const rows = someOf(TOOL_ROWS, 24).map((row) => ({ ...row, things: row.things.filter(isOwnable) }));
    const nameOf = (thing: keyof Things) => (isOwnable(thing) ? andys[thing] : assert.fail());
    const count = await assertHidden(waysOf(names), rows, nameOf);
    t.diagnostic(`${count} pairs of answers were equal`);
    // An administrator of the tenant may change and stop the object by its id, but sees no more than other users.
    const reading = rows.filter(({ tool }) => !/\.(promote|demote|delete|update|cancel)$/.test(tool));
    await assertHidden(waysOf(['alphaAdmin']), reading, nameOf);
    assert.deepEqual(await snapshot(setup, 'alphaUser', andys), before);
  });

  test('a child that a user’s own workflow started is the user’s own too', async () => {
    const rows = TOOL_ROWS.filter(({ things }) => things.includes('execution'));
    const names = ['alphaOther', 'alphaReader', 'serviceForAlpha', 'key of alphaOther'];
    await assertHidden(waysOf(names), rows, () => andys.child);
    const { status } = await setup.ask('alphaUser', 'GET', `/v1/executions/${andys.child}`);
    assert.equal(status, 200);
  });

  test('only service accounts may name another tenant; for all others it answers as one that never existed', async () => {
    const all = strangers();
    // An API key stays in the tenant in which it was created, whatever identity it acts as.
    const isService = ({ asker }: Way) => asker.name.startsWith('service');
    const probe = async ({ name, answer }: Way): Promise<void> => {
      for (const { tool, args } of TENANT_ROWS) {
        const real = await answer(tool, { ...args(alpha), tenant_id: 'alpha' }, 'alpha');
        const none = await answer(tool, { ...args(alpha), tenant_id: 'nobod' }, 'nobod');
        assert.equal(real, none.replaceAll('alpha', '(asked)'), `${name}: ${tool}`);
      }
    };
    await Promise.all(all.filter((way) => !isService(way)).map(probe));
    const looking = TENANT_ROWS.filter(({ tool }) => !/mote$/.test(tool));
    for (const { name, answer } of all.filter(isService))
      for (const { tool, args } of looking) {
        const text = await answer(tool, { ...args(alpha), tenant_id: 'alpha' }, 'alpha-is-not-asked-for');
        assert.ok(text.includes(alpha.workflow), `${name}: ${tool}: ${text}`);
        assert.ok(!text.includes(andys.workflow), `${name} sees a user’s own object: ${tool}`);
      }
  });

  test('no list, search or count shows anything of another tenant, or of another user', async () => {
    const [theirs, andy] = [Object.values(alpha), Object.values(andys)];
    const ways = [...strangers(), ...waysOf(['alphaAdmin', 'alphaOther', 'alphaReader', 'serviceForAlpha'])];
    const lookAround = async ({ name, asker, answer }: Way): Promise<void> => {
      const hidden = asker.tenant === 'alpha' ? andy : [...andy, ...theirs];
      for (const { tool, args } of LIST_ROWS)
        for (const query of ['agent flow alpha', 'own agent flow andy']) {
          // A service account reads with a user’s rights when it names the user.
          if (asker.name === 'serviceForAlpha' && 'user_id' in args(query)) continue;
          const text = await answer(tool, args(query), query);
          const seen = hidden.filter((one) => text.includes(one));
          assert.deepEqual(seen, [], `${name}: ${tool}`);
        }
    };
    await Promise.all(ways.map(lookAround));
  });

  test('no call was refused for lack of a session: every agent still calls', async () => {
    for (const agent of callingAgents) assert.ok(Array.isArray((await agent.made('svc.tools.list', {})).tools));
  });

  test('owners get by the same calls what others do not', async () => {
    const [asked, andy] = [setup.asker('alphaAdmin'), setup.asker('alphaUser')];
    const looking = /\.(export|logs|status|get|validate)$/;
    for (const { tool, things, args } of TOOL_ROWS.filter(({ tool: name }) => looking.test(name)))
      for (const thing of things) {
        if (tool === 'svc.execute.status' && thing === 'run') continue;
        const text = await answerTo(setup.tenancy.node, asked, toolQuestion(tool, args(alpha[thing])), 'nothing');
        assert.match(text, /"isError\\?":false/, `${tool} ${thing}: ${text}`);
        if (!isOwnable(thing)) continue;
        const own = await answerTo(setup.tenancy.node, andy, toolQuestion(tool, args(andys[thing])), 'nothing');
        assert.match(own, /"isError\\?":false/, `${tool} ${thing}: ${own}`);
      }
  });
});

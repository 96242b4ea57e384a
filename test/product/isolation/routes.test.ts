import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { someOf } from '../../support/size.ts';
import { type Asker, answerTo, type Question, unknownFor } from './asker.ts';
import type { CallingAgent } from './calling-agent.ts';
import { IsolatedTenants } from './isolated-tenants.ts';
import { type OwnThings, settleOwn } from './own-things.ts';
import { pathRows } from './path-rows.ts';
import { mayName, type Named, NO_THING, ROUTE_ROWS, type RouteRow } from './route-table.ts';
import { snapshot } from './snapshot.ts';

const Parameters = z.array(z.object({ in: z.string(), name: z.string() })).default([]);
const Schema = z.object({ $ref: z.string().optional(), properties: z.record(z.string(), z.unknown()).default({}) });
const Body = z.object({ content: z.record(z.string(), z.object({ schema: Schema })) }).default({ content: {} });
const Components = z.object({ schemas: z.record(z.string(), Schema) });
const Paths = z.record(z.string(), z.record(z.string(), z.object({ parameters: Parameters, requestBody: Body })));

describe(`isolation of tenants and users, over every route and ${ROUTE_ROWS.length} more names in bodies and queries`, () => {
  let setup: IsolatedTenants;
  let alpha: Named;
  let andy: CallingAgent;
  let andys: OwnThings;
  before(async () => {
    setup = await IsolatedTenants.open();
    andy = await setup.callingAgent('alphaUser');
    const keyText = (setup.asker('key of alphaAdmin').headers.authorization ?? assert.fail()).slice('Bearer '.length);
    const things = await setup.settle('alphaAdmin', 'alpha');
    alpha = { ...things, session: andy.sessionId, keyText };
    andys = await settleOwn(setup, andy, 'andy');
  });
  after(() => setup[Symbol.asyncDispose]());

  async function assertHidden(
    askers: readonly Asker[],
    rows: readonly RouteRow[],
    nameOf: (thing: keyof Named) => string,
  ): Promise<void> {
    const ask = (asker: Asker, question: Question, name: string) => answerTo(setup.tenancy.node, asker, question, name);
    const probe = async (asker: Asker): Promise<void> => {
      for (const { route, field, things, question } of rows)
        for (const thing of things) {
          const real = nameOf(thing);
          const none = unknownFor(real);
          const foreign = await ask(asker, question(real), real);
          assert.equal(foreign, await ask(asker, question(none), none), `${asker.name}: ${route} ${field} of ${thing}`);
        }
    };
    await Promise.all(askers.map(probe));
  }

  test('the table has every field of a body or a query that names something', async () => {
    const { body } = await setup.tenancy.node.call('GET', '/v1/openapi.json');
    const { schemas } = Components.parse(body.components);
    const fieldsOf = ({ $ref, properties }: z.output<typeof Schema>): string[] =>
      Object.keys(
        $ref === undefined ? properties : (schemas[$ref.split('/').at(-1) ?? ''] ?? assert.fail($ref)).properties,
      );
    const known = new Set(ROUTE_ROWS.map(({ route, field }) => `${route} ${field}`));
    const fields = Object.entries(Paths.parse(body.paths)).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { parameters, requestBody }]) => {
        const queries = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
        const inBody = Object.values(requestBody.content).flatMap(({ schema }) => fieldsOf(schema));
        return [...queries, ...inBody].filter(mayName).map((field) => `${method.toUpperCase()} ${path} ${field}`);
      }),
    );
    // Names for new objects, and fields of the fleet.
    const makes = /^(POST \/v1\/(volumes|api-keys) name|PUT \/v1\/cluster\/config config_yaml)$/;
    const missing = fields.filter((one) => !known.has(one) && !NO_THING.has(one) && !makes.test(one));
    assert.deepEqual(missing, []);
  });

  test('an object of another tenant answers as one that never existed, by token and by API key, and stays unchanged', async () => {
    const before = await snapshot(setup, 'alphaAdmin', alpha);
    const strangers = setup.callersOutside('alpha');
    const nameOf = (thing: keyof Named) => alpha[thing];
    await assertHidden(strangers, someOf(ROUTE_ROWS, 16), nameOf);
    const byKey = strangers.filter(({ name }) => name.startsWith('key of'));
    await assertHidden(byKey, someOf(pathRows(alpha), 24), nameOf);
    assert.deepEqual(await snapshot(setup, 'alphaAdmin', alpha), before);
  });

  test('a user’s own object answers other users of the tenant as one that never existed, and stays unchanged', async () => {
    const { id } = await created(setup, 'alphaUser');
    const own: Partial<Named> = { ...andys, key: id };
    const nameOf = (thing: keyof Named) => own[thing] ?? assert.fail();
    const before = await snapshot(setup, 'alphaUser', andys);
    const rows = someOf(
      [...pathRows(own), ...ROUTE_ROWS.map((row) => ({ ...row, things: row.things.filter((thing) => thing in own) }))],
      12,
    );
    const among = (names: readonly string[]) => names.map((name) => setup.asker(name));
    await assertHidden(among(['alphaOther', 'alphaReader', 'key of alphaOther']), rows, nameOf);
    // Callers that may write in a tenant administer the API keys of all its users (docs/reference/api-keys.md).
    const butKeys = rows.filter(({ things }) => !things.includes('key'));
    await assertHidden(among(['serviceForAlpha', 'key of serviceForAlpha']), butKeys, nameOf);
    // An administrator may change an object by its id, but sees no more than other users.
    const looking = butKeys.filter(({ route }) => route.startsWith('GET '));
    await assertHidden(among(['alphaAdmin']), looking, nameOf);
    assert.deepEqual(await snapshot(setup, 'alphaUser', andys), before);
  });

  test('over gRPC a user’s own agent does not exist for other users, by token and by API key', async () => {
    const names = ['alphaOther', 'alphaReader', 'serviceForAlpha', 'alphaAdmin', 'key of alphaOther'];
    for (const asker of [...names.map((name) => setup.asker(name)), ...setup.callersOutside('alpha')])
      for (const name of [andys.agent, andys.agentName]) {
        const [foreign, none] = [
          await setup.tenancy.executeWith(asker.headers, name),
          await setup.tenancy.executeWith(asker.headers, unknownFor(name)),
        ];
        assert.deepEqual(foreign, none, asker.name);
      }
    assert.equal(Object(await setup.tenancy.executeWith(setup.asker('alphaUser').headers, andys.agent)).code, 'OK');
  });

  test('patterns that one tenant learned are invisible to another one, over REST and gRPC', async () => {
    const pattern = {
      error_signature: 'broken alpha pipe',
      error_type: 'io',
      error_message: 'alpha broke',
      solution_approach: 'mend it',
    };
    const stored = await setup.tenancy.node.json(
      'POST',
      '/v1/cortex/patterns',
      pattern,
      setup.asker('alphaAdmin').headers,
    );
    assert.equal(stored.status, 200, stored.text);
    const path = '/v1/cortex/patterns?error_signature=broken+alpha+pipe';
    for (const asker of setup.askers.values()) {
      const { text } = await setup.ask(asker, 'GET', path);
      assert.equal(text.includes('mend it'), asker.tenant === 'alpha', `${asker.name}: ${text}`);
      const { text: all } = await setup.ask(asker, 'GET', '/v1/cortex/patterns');
      assert.equal(all.includes('mend it'), asker.tenant === 'alpha', `${asker.name}: ${all}`);
      const found = await setup.tenancy.patternsWith(asker.headers, 'broken alpha pipe');
      assert.equal(found.includes('mend it'), asker.tenant === 'alpha', `${asker.name}: ${found}`);
    }
  });

  test('owners get what others do not, so the answers above are not refusals for all callers', async () => {
    const own: Partial<Named> = { ...andys };
    for (const [asker, named] of [['alphaAdmin', alpha] as const, ['alphaUser', own] as const])
      for (const { route, things, question } of pathRows(named).filter(({ route: one }) => one.startsWith('GET ')))
        for (const thing of things) {
          // A workspace to which nothing was written has no file.
          const isEmpty = asker === 'alphaUser' && route.endsWith('/files/content');
          if (route.endsWith('/stream') || isEmpty || !(thing in named)) continue;
          const { method, path } = question(named[thing] ?? assert.fail());
          assert.equal((await setup.ask(asker, method, path)).status, 200, `${asker}: ${route} of ${thing}`);
        }
  });

  test('an administrator of the tenant stops a user’s own runs, and sees no more of them than before', async () => {
    const admin = (method: string, path: string) => setup.ask('alphaAdmin', method, path);
    for (const path of [`/v1/executions/${andys.running}`, `/v1/workflows/executions/${andys.run}`]) {
      assert.equal((await admin('GET', path)).status, 404);
      const stopped = await admin('POST', `${path}/cancel`);
      assert.equal(stopped.status, 200, stopped.text);
      assert.equal((await admin('GET', path)).status, 404);
      assert.equal((await setup.ask('alphaUser', 'GET', path)).body.status, 'cancelled');
    }
  });
});

async function created(setup: IsolatedTenants, asker: string): Promise<{ readonly id: string }> {
  const headers = setup.asker(asker).headers;
  const { body, status, text } = await setup.tenancy.node.json('POST', '/v1/api-keys', { name: 'own' }, headers);
  assert.equal(status, 200, text);
  return { id: String(body.id) };
}

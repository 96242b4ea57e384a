import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type SvcRuntimeClient, SvcRuntimeService } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { someOf } from '../../support/size.ts';
import { clientOf, metadataOf } from '../../transport/grpc/call.ts';
import { type Asker, unknownFor, withoutAsked } from './asker.ts';
import { IsolatedTenants, type Things } from './isolated-tenants.ts';
import { type OwnThings, settleOwn } from './own-things.ts';
import { RPC_NAMES_NOTHING, RPC_ROWS, type RpcRow, rpcMayName } from './rpc-table.ts';
import { snapshot } from './snapshot.ts';
import { isOwnable } from './tool-table.ts';

describe(`isolation of tenants and users, over ${RPC_ROWS.length} fields of RPCs that name something`, () => {
  let setup: IsolatedTenants;
  let client: SvcRuntimeClient;
  let alpha: Things;
  let andys: OwnThings;
  before(async () => {
    setup = await IsolatedTenants.open();
    client = clientOf(await setup.tenancy.node.process.grpcAddress);
    alpha = await setup.settle('alphaAdmin', 'alpha');
    andys = await settleOwn(setup, await setup.callingAgent('alphaUser'), 'andy');
  });
  after(async () => {
    client.close();
    await setup[Symbol.asyncDispose]();
  });

  async function assertHidden(
    askers: readonly Asker[],
    rows: readonly RpcRow[],
    nameOf: (thing: keyof Things) => string,
  ): Promise<void> {
    const probe = async (asker: Asker): Promise<void> => {
      const said = async ({ ask }: RpcRow, name: string): Promise<string> =>
        withoutAsked(JSON.stringify(await ask(client, metadataOf(asker.headers), name)), name);
      for (const row of rows)
        for (const thing of row.things) {
          const real = nameOf(thing);
          const foreign = await said(row, real);
          const none = await said(row, unknownFor(real));
          assert.equal(foreign, none, `${asker.name}: ${row.rpc} ${row.field} of ${thing}`);
        }
    };
    await Promise.all(askers.map(probe));
  }

  test('the table has every field of a request that names something', () => {
    const known = new Set(RPC_ROWS.map(({ rpc, field }) => `${rpc} ${field}`));
    const fields = Object.entries(SvcRuntimeService).flatMap(([rpc, { requestDeserialize }]) =>
      Object.keys(requestDeserialize(Buffer.alloc(0)))
        .filter(rpcMayName)
        .map((field) => `${rpc} ${field}`),
    );
    assert.ok(fields.length > 5, fields.join());
    assert.deepEqual(
      fields.filter((field) => !known.has(field) && !RPC_NAMES_NOTHING.has(field)),
      [],
    );
  });

  test('an object of another tenant answers as one that never existed, by token and by API key, and stays unchanged', async () => {
    const before = await snapshot(setup, 'alphaAdmin', alpha);
    await assertHidden(setup.callersOutside('alpha'), someOf(RPC_ROWS, 6), (thing) => alpha[thing]);
    assert.deepEqual(await snapshot(setup, 'alphaAdmin', alpha), before);
  });

  test('a user’s own object answers other users of the tenant as one that never existed, and stays unchanged', async () => {
    const before = await snapshot(setup, 'alphaUser', andys);
    const rows = RPC_ROWS.map((row) => ({ ...row, things: row.things.filter(isOwnable) }));
    const names = ['alphaOther', 'alphaReader', 'serviceForAlpha', 'alphaAdmin', 'key of alphaOther'];
    const askers = names.map((name) => setup.asker(name));
    await assertHidden(askers, rows, (thing) => (isOwnable(thing) ? andys[thing] : assert.fail()));
    assert.deepEqual(await snapshot(setup, 'alphaUser', andys), before);
  });

  test('owners get by the same RPCs what others do not', async () => {
    const rows = RPC_ROWS.filter(({ rpc, field }) => rpc === 'executeAgent' || field === 'source_name');
    for (const { ask, things, rpc } of rows)
      for (const thing of things) {
        const said = JSON.stringify(await ask(client, metadataOf(setup.asker('alphaAdmin').headers), alpha[thing]));
        assert.match(said, /"code":"OK"/, `${rpc} ${thing}: ${said}`);
      }
  });
});

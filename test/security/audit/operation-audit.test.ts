import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sequenceFaults } from '../../../manifests/audit/links.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../../runtime/identity.ts';
import { recordsBehind } from '../../../security/audit/reader.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { auditOf, auditStore, bodiesOf, callOf, entriesOf } from './audit-store.ts';

const forbidden = new SvcError('forbidden', 'The role does not allow it.');

const recordsOf = async (blocks: Parameters<typeof recordsBehind>[0], tenant = 'acme') =>
  recordsBehind(blocks, { tenant, node: 'node-1', after: 0, limit: 1_000 });

describe('the audit of operations', () => {
  it('records caller, operation, target and end of each operation in one linked chain for each tenant', async () => {
    await using store = await auditStore();
    const { audit } = auditOf(store.blocks);
    const call = callOf('agents.delete', { target: 'a-1' });
    await (await audit.begin(call)).end({ outcome: 'ok' });
    await (await audit.begin(call)).end({ outcome: 'failed', error: 'not_found', reason: null });
    await (await audit.begin({ ...call, caller: { ...call.caller, tenant: 'globex' } as typeof call.caller })).end({
      outcome: 'ok',
    });
    await audit.close('the test ends', 5_000);
    const [deleted, failed] = await entriesOf(store.blocks, 'acme');
    assert.deepEqual(deleted, {
      kind: 'operation',
      ...{ operation: 'agents.delete', subject: 'ada', caller: 'tenant_user', roles: ['svc:admin'], target: 'a-1' },
      ...{ outcome: 'ok', error: null, reason: null, trace: '0'.repeat(32), via: 'rest', address: null },
      ...{ count: 1, begun: null },
    });
    assert.deepEqual([failed?.outcome, failed?.error], ['failed', 'not_found']);
    const kinds = (await bodiesOf(store.blocks)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['opened', 'operation', 'operation', 'closed']);
    assert.equal((await entriesOf(store.blocks, 'globex')).length, 1);
    assert.deepEqual(sequenceFaults(await recordsOf(store.blocks)), []);
  });

  it('goes on with the same chain after a restart', async () => {
    await using store = await auditStore();
    for (const life of [1, 2, 3]) {
      const { audit } = auditOf(store.blocks);
      await (await audit.begin(callOf(`agents.life_${life}`))).end({ outcome: 'ok' });
      await audit.close('the test ends', 5_000);
    }
    const records = await recordsOf(store.blocks);
    assert.equal(records.length, 9);
    assert.deepEqual(sequenceFaults(records), []);
  });

  it('loses and doubles nothing when the store writes a block and its answer is lost', async () => {
    await using store = await auditStore();
    let calls = 0;
    const blocks = {
      ...{ get: store.blocks.get.bind(store.blocks), find: store.blocks.find.bind(store.blocks) },
      async insert(block: Parameters<typeof store.blocks.insert>[0]) {
        const written = await store.blocks.insert(block);
        calls += 1;
        if (calls % 2 === 1) throw new SvcError('unavailable', 'the answer was lost');
        return written;
      },
    };
    const { audit, warned } = auditOf({ ...store.blocks, ...blocks });
    for (let index = 0; index < 20; index += 1)
      await (await audit.begin(callOf(`agents.op_${index}`))).end({ outcome: 'ok' });
    await audit.close('the test ends', 10_000);
    const entries = await entriesOf(store.blocks, 'acme');
    assert.deepEqual(
      entries.map(({ operation }) => operation),
      Array.from({ length: 20 }, (_one, index) => `agents.op_${index}`),
    );
    assert.deepEqual(sequenceFaults(await recordsOf(store.blocks)), []);
    assert.ok(warned.length > 0);
  });

  it('two processes with one node id write one chain and log a warning', async () => {
    await using store = await auditStore();
    const [one, other] = [auditOf(store.blocks), auditOf(store.blocks)];
    for (let index = 0; index < 10; index += 1)
      await Promise.all(
        [one, other].map(async ({ audit }) => (await audit.begin(callOf('agents.delete'))).end({ outcome: 'ok' })),
      );
    await Promise.all([one, other].map(({ audit }) => audit.close('the test ends', 10_000)));
    assert.equal((await entriesOf(store.blocks, 'acme')).length, 20);
    assert.deepEqual(sequenceFaults(await recordsOf(store.blocks)), []);
    assert.match([...one.warned, ...other.warned].join('\n'), /another process writes the audit of node node-1/);
  });
});

describe('fail closed', () => {
  it('nothing runs before its entry is durable, and its end is an entry too', async () => {
    await using store = await auditStore();
    const { audit } = auditOf(store.blocks, { failClosed: true });
    const operation = await audit.begin(callOf('agents.delete'));
    assert.deepEqual(
      (await entriesOf(store.blocks, 'acme')).map(({ outcome }) => outcome),
      ['begun'],
    );
    await operation.end({ outcome: 'ok' });
    const [begun, ended] = await entriesOf(store.blocks, 'acme');
    assert.deepEqual([begun?.begun, ended?.outcome, ended?.begun], [null, 'ok', 2]);
  });

  it('an operation whose entry cannot be written is refused as unavailable', async () => {
    await using store = await auditStore();
    const clock = new HandClock();
    const never = { insert: () => Promise.reject(new SvcError('unavailable', 'down')) };
    const bound = { get: store.blocks.get.bind(store.blocks), find: store.blocks.find.bind(store.blocks) };
    const { audit } = auditOf({ ...store.blocks, ...bound, ...never }, { failClosed: true, clock });
    const refused = assert.rejects(audit.begin(callOf('agents.delete')), {
      code: 'unavailable',
      message: /^Nothing was done: the audit entry was not written in time/,
    });
    await clock.pass(3_000);
    await refused;
  });
});

describe('repeated denials', () => {
  it('are one entry at once and one with their number, so that a caller cannot fill the store', async () => {
    await using store = await auditStore();
    const clock = new HandClock();
    const { audit } = auditOf(store.blocks, { clock });
    for (let index = 0; index < 5_000; index += 1) audit.denied(callOf('agents.delete'), forbidden);
    const written = () => entriesOf(store.blocks, 'acme');
    await waitUntil('the first denial', async () => (await written()).length === 1);
    await clock.pass(60_000);
    await waitUntil('the counted ones', async () => (await written()).length === 2);
    assert.deepEqual(
      (await written()).map(({ outcome, error, count }) => [outcome, error, count]),
      [
        ['denied', 'forbidden', 1],
        ['denied', 'forbidden', 4_999],
      ],
    );
  });

  it('of 5,000 unknown callers are at most 101 entries a minute', async () => {
    await using store = await auditStore();
    const clock = new HandClock();
    const { audit } = auditOf(store.blocks, { clock });
    for (let index = 0; index < 5_000; index += 1) {
      const call = callOf('agents.delete', { caller: null, address: `10.0.${index >> 8}.${index & 255}` });
      audit.denied(call, new SvcError('unauthenticated'));
    }
    await clock.pass(60_000);
    const entries = await waitUntil('the counted ones', async () => {
      const all = await entriesOf(store.blocks, SYSTEM_TENANT);
      return all.length === 101 ? all : null;
    });
    const others = entries.at(-1);
    assert.deepEqual([others?.operation, others?.count, others?.address], ['others', 4_900, null]);
  });

  it('file operations in volumes have a limit of their own: a busy run fills no chain and hides no denial', async () => {
    await using store = await auditStore();
    const clock = new HandClock();
    const { audit } = auditOf(store.blocks, { clock });
    const of = { tenant: 'acme', subject: 'run-1', outcome: 'ok', error: null } as const;
    for (let index = 0; index < 3_000; index += 1) {
      audit.occurred({ ...of, operation: 'storage.FileRead', target: 'v/same' });
      audit.occurred({ ...of, operation: 'storage.FileCreated', target: `v/${index}` });
    }
    audit.denied(callOf('agents.delete'), forbidden);
    await clock.pass(60_000);
    const entries = await waitUntil('the counted ones', async () => {
      const all = await entriesOf(store.blocks, 'acme');
      return all.length === 1_003 ? all : null;
    });
    const counted = entries.filter(({ count }) => count > 1);
    assert.deepEqual(
      counted.map(({ operation, subject, target, count }) => [operation, subject, target, count]),
      [
        ['storage.FileRead', 'run-1', 'v/same', 2_999],
        ['storage.others', null, null, 2_001],
      ],
    );
    assert.equal(
      entries.filter(({ operation, outcome }) => operation === 'agents.delete' && outcome === 'denied').length,
      1,
    );
  });
});

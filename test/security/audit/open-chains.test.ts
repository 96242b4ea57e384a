import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EntryBody } from '../../../manifests/audit/entries.ts';
import { sequenceFaults } from '../../../manifests/audit/links.ts';
import type { Block } from '../../../security/audit/blocks.ts';
import type { ChainedAudit } from '../../../security/audit/operation-audit.ts';
import { recordsBehind } from '../../../security/audit/reader.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type AuditStore, auditOf, auditStore, bodiesOf, callOf } from './audit-store.ts';

const HOUR_MS = 3_600_000;

const write = async (audit: ChainedAudit, tenant: string): Promise<void> => {
  const caller = { kind: 'tenant_user', subject: 'ada', tenant, roles: [] } as const;
  const operation = await audit.begin(callOf('agents.delete', { caller: { ...caller, roles: [] } }));
  return operation.end({ outcome: 'ok' });
};

const kindsOf = async (store: AuditStore, tenant: string): Promise<EntryBody['kind'][]> =>
  (await bodiesOf(store.blocks, tenant)).map(({ kind }) => kind);

const recordsOf = (store: AuditStore, tenant: string) =>
  recordsBehind(store.blocks, { tenant, node: 'node-1', after: 0, limit: 1_000 });

/** All blocks of a store, oldest first in each chain. */
async function blocksOf(store: AuditStore): Promise<Map<string, Block[]>> {
  const all: Block[] = [];
  for (const tenant of await store.blocks.tenants())
    all.push(...(await store.blocks.find({ tenant, sort: [['last', 'asc']], limit: 1_000 })));
  return Map.groupBy(all, ({ tenant }) => tenant);
}

describe('chains of tenants that have no entries', () => {
  it('are closed, and continue where they ended with the next entry of the tenant', async () => {
    await using store = await auditStore();
    const clock = new HandClock();
    const { audit } = auditOf(store.blocks, { clock });
    for (const life of [1, 2, 3]) {
      await write(audit, 'acme');
      await waitUntil('the entry', async () => (await kindsOf(store, 'acme')).length === life * 3 - 1);
      assert.equal(audit.chains, 1);
      await clock.pass(HOUR_MS);
      await waitUntil('its last entry', async () => (await kindsOf(store, 'acme')).length === life * 3);
      await clock.pass(HOUR_MS);
      assert.equal(audit.chains, 0);
    }
    const cycle = ['opened', 'operation', 'closed'];
    assert.deepEqual(await kindsOf(store, 'acme'), [...cycle, ...cycle, ...cycle]);
    assert.deepEqual(sequenceFaults(await recordsOf(store, 'acme')), []);
  });

  it('are opened again by an entry that comes while they are being closed', async () => {
    await using store = await auditStore();
    const clock = new HandClock();
    let isStated = false;
    const { audit } = auditOf(store.blocks, { clock, isStated: () => isStated });
    await write(audit, 'acme');
    await waitUntil('the entry', async () => (await kindsOf(store, 'acme')).length === 2);
    await clock.pass(HOUR_MS);
    await waitUntil('its last entry', async () => (await kindsOf(store, 'acme')).length === 3);
    await clock.pass(HOUR_MS);
    assert.equal(audit.chains, 1, 'its end is not stated');
    await write(audit, 'acme');
    await waitUntil('the entry', async () => (await kindsOf(store, 'acme')).length === 5);
    isStated = true;
    await clock.pass(HOUR_MS);
    await waitUntil('its last entry', async () => (await kindsOf(store, 'acme')).length === 6);
    await clock.pass(HOUR_MS);
    assert.equal(audit.chains, 0);
    assert.deepEqual(sequenceFaults(await recordsOf(store, 'acme')), []);
  });

  it('of 3,000 tenants at most 2,000 stay open, and a stop ends each of those and no other', async () => {
    await using store = await auditStore();
    const clock = new HandClock();
    const { audit, warned } = auditOf(store.blocks, { clock });
    const tenants = Array.from({ length: 3_000 }, (_, index) => `tenant-${index}`);
    await Promise.all(tenants.map((tenant) => write(audit, tenant)));
    await waitUntil('all entries', async () => (await store.blocks.count({ tenant: null })) >= 3_000, 60_000);
    assert.equal(audit.chains, 3_000);
    await clock.pass(20_000);
    await waitUntil('fewer chains', async () => {
      await clock.pass(10_000);
      return audit.chains === 2_000;
    });
    await Promise.all(tenants.slice(0, 500).map((tenant) => write(audit, tenant)));
    await audit.close('the test ends', 60_000);
    const blocks = await blocksOf(store);
    assert.equal(blocks.size, 3_000);
    const cycle = ['opened', 'operation', 'closed'];
    for (const [index, tenant] of tenants.entries()) {
      const records = (blocks.get(tenant) ?? []).flatMap((block) => block.records);
      const expected = index < 500 ? [...cycle, ...cycle] : cycle;
      assert.deepEqual(
        records.map(({ body }) => body.kind),
        expected,
        tenant,
      );
      assert.deepEqual(sequenceFaults(records), []);
    }
    assert.deepEqual(warned, []);
  });
});

describe('a stop', () => {
  it('writes the number of entries that were lost, also of a tenant without a chain', async () => {
    await using store = await auditStore();
    const gate = Promise.withResolvers<void>();
    const blocks = {
      ...{ get: store.blocks.get.bind(store.blocks), find: store.blocks.find.bind(store.blocks) },
      insert: (block: Block) => gate.promise.then(() => store.blocks.insert(block)),
    };
    const { audit } = auditOf({ ...store.blocks, ...blocks });
    for (let index = 0; index < 10_000; index += 1) await write(audit, 'acme');
    await write(audit, 'globex');
    await write(audit, 'globex');
    const closing = audit.close('the test ends', 60_000);
    gate.resolve();
    await closing;
    const bodies = await bodiesOf(store.blocks, 'globex');
    assert.deepEqual(
      bodies.map((body) => (body.kind === 'lost' ? body.count : body.kind)),
      ['opened', 2, 'closed'],
    );
  });
});

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { type Address, addressOf } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { StoredDocument } from '../../runtime/documents.ts';
import { LEDGER } from '../../runtime/ledger/segments.ts';
import { openStores } from '../../runtime/open-stores.ts';
import { ARCHIVED_ACTORS, type ArchivedActor } from '../../runtime/projection/archive.ts';
import { type RetentionRule, retentionPolicy } from '../../runtime/retention/retention.ts';
import { type Runtime, startRuntime } from '../../runtime/runtime.ts';
import { run } from '../contract/retention.ts';
import { waitUntil } from '../support/wait-until.ts';

const TENANTS = ['a', 'b', 'c'] as const;
/** A long time, so that what a run waits for in real time is nothing beside it. */
const UNIT_MS = 86_400_000;

const rule = fc.record({
  retentionMs: fc.option(fc.integer({ min: 1, max: 10 }).map((units) => units * UNIT_MS)),
  retentionBytes: fc.option(fc.integer({ min: 0, max: 2_000 })),
});
const Archived = fc.record({
  tenant: fc.constantFrom(...TENANTS),
  ageUnits: fc.integer({ min: 0, max: 12 }),
  bytes: fc.integer({ min: 1, max: 500 }),
  /** Which earlier one it belongs to, or one of two that still run. */
  parent: fc.option(fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constantFrom('live-0', 'live-1'))),
  isNeeded: fc.integer({ min: 0, max: 4 }).map((one) => one === 0),
});

describe('retention over random runs, ages, sizes and tenants', { timeout: 300_000 }, () => {
  let directory: string;
  let ports: Awaited<ReturnType<typeof openStores>>;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-retention-'));
    ports = await openStores({ dataDir: directory, warn: assert.fail });
  });
  after(async () => {
    await ports.close();
    await rm(directory, { recursive: true, force: true });
  });

  test('retention keeps exactly the records that must remain', async () => {
    const actors = await ports.documents.collection<ArchivedActor>(ARCHIVED_ACTORS);
    await fc.assert(
      fc.asyncProperty(fc.array(Archived, { maxLength: 40 }), rule, rule, async (made, general, own) => {
        await actors.deleteMany({ tenant: null });
        const now = Date.now();
        const needed = new Set<Address>();
        const rules = retentionPolicy({ runs: general }, new Map([['b', { runs: own }]]));
        const runtime = await startRuntime({
          ...ports,
          upkeep: [],
          clock: { ...systemClock, now: () => now },
          definitions: [run],
          handlers: [],
          node: 'node-a',
          settings: { partitions: 2, systemPartitions: 1 },
          retention: {
            policy: rules,
            intervalMs: UNIT_MS,
            now: async () => now,
            neededOf: async (_tenant, asked) => new Set(asked.filter((one) => needed.has(one))),
          },
          warn: () => undefined,
        });
        try {
          const live: Record<string, string> = {};
          for (const name of ['live-0', 'live-1']) {
            live[name] = randomUUID();
            for (const tenant of TENANTS) {
              await runtime.client.ask(addressOf('run', tenant, live[name]), 'Start', { text: '', parent: null });
            }
          }
          const all = made.map((one) => ({ ...one, id: randomUUID() }));
          const documents = all.map(({ tenant, ageUnits, bytes, parent, id, isNeeded }): ArchivedActor => {
            const of = typeof parent === 'number' ? all[parent] : undefined;
            const above = of !== undefined && of.tenant === tenant && of.id !== id ? of.id : null;
            const parentId = typeof parent === 'string' ? (live[parent] ?? null) : above;
            const address = addressOf('run', tenant, id);
            if (isNeeded) needed.add(address);
            return {
              ...{
                tenant,
                id: address,
                version: 1,
                kind: 'run',
                record: '{}',
                last_event: 0,
                retained_as: 'runs',
                bytes,
              },
              parent: parentId === null ? null : addressOf('run', tenant, parentId),
              ended_at: now - ageUnits * UNIT_MS - 1,
              view_id: id,
            };
          });
          await actors.putMany(documents);
          // A sweep may remove the last reference to other documents, which the next sweeps then remove.
          for (let before = -1, left = documents.length; left !== before; ) {
            before = left;
            await runtime.sweep();
            left = await actors.count({ tenant: null });
          }
          const left = new Set((await actors.find({ tenant: null, limit: 1_000 })).map(({ id }) => id));
          check(documents, left, needed, new Set(Object.values(live)), (tenant) => rules.ruleOf(tenant, 'runs'), now);
        } finally {
          await runtime.stop();
        }
      }),
      { numRuns: 25 },
    );
  });
});

describe('removals that cannot be finished', { timeout: 300_000 }, () => {
  let directory: string;
  let ports: Awaited<ReturnType<typeof openStores>>;
  let runtime: Runtime;
  const warnings: string[] = [];
  const poisoned = new Set<Address>();
  let upkeeps = 0;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-removals-'));
    ports = await openStores({ dataDir: directory, warn: assert.fail });
    runtime = await startRuntime({
      ...ports,
      upkeep: [
        async () => {
          upkeeps += 1;
          return false;
        },
      ],
      definitions: [run],
      handlers: [],
      node: 'node-a',
      settings: { partitions: 2, systemPartitions: 1, removalsGuardedMs: 0 },
      retention: {
        policy: retentionPolicy({}),
        intervalMs: UNIT_MS,
        async forget(_tenant, gone) {
          if (gone.some((one) => poisoned.has(one))) throw new Error('this one cannot be forgotten');
        },
      },
      warn: (message) => void warnings.push(message),
    });
  });
  after(async () => {
    await runtime.stop();
    await ports.close();
    await rm(directory, { recursive: true, force: true });
  });

  const deleted = async (tenant: string): Promise<Address> => {
    const address = addressOf('run', tenant, randomUUID());
    await runtime.client.ask(address, 'Start', { text: '', parent: null });
    await runtime.client.ask(address, 'End', {});
    await waitUntil('it to be archived', async () => (await runtime.client.read(address))?.archived === true);
    await runtime.removals.ask(address);
    return address;
  };
  const removals = () => ports.documents.collection<StoredDocument>({ name: 'removals', unique: [], indexes: [] });

  test('a removal behind 2,100 that cannot be finished is finished in the same sweep', async () => {
    const all = await removals();
    // The time for which late writes are expected begins when the actor was gone: here, tomorrow.
    const guarded = { version: 1, by: 'request', asked_at: 1, since: 0, gone_at: Date.now() + UNIT_MS };
    const many = Array.from({ length: 2_100 }, () => addressOf('run', 'acme', randomUUID()));
    await all.putMany(many.map((id) => ({ ...guarded, tenant: 'acme', id, view_id: id })));
    const address = await deleted('acme');
    assert.deepEqual((await runtime.sweep()).deleted, 0, 'it is taken out of the archive first');
    assert.deepEqual((await runtime.sweep()).deleted, 1);
    assert.equal(await all.get('acme', address), null);
    assert.equal(await all.count({ tenant: 'acme' }), many.length, 'the others wait for their time');
    await all.deleteMany({ tenant: 'acme' });
  });

  test('a removal that fails keeps no other one waiting, and the rest of the sweep runs', async () => {
    const all = await removals();
    const [broken, sound] = [await deleted('acme'), await deleted('acme')];
    poisoned.add(broken);
    await runtime.sweep();
    const before = upkeeps;
    assert.deepEqual((await runtime.sweep()).deleted, 1);
    assert.equal(upkeeps, before + 1);
    assert.equal(await all.get('acme', sound), null);
    assert.notEqual(await all.get('acme', broken), null, 'it is tried again');
    assert.ok(warnings.includes('deleted actors could not be removed; the next sweep tries again'));
    poisoned.clear();
    assert.deepEqual((await runtime.sweep()).deleted, 1);
  });
});

describe('retention on nodes whose clocks are wrong', { timeout: 300_000 }, () => {
  const HOUR_MS = 3_600_000;
  const DAY_MS = 24 * HOUR_MS;
  /** A run ends on a node whose clock is wrong by the first, and a sweep runs on one whose clock is wrong by the second. */
  const cases = [
    [0, DAY_MS],
    [0, 365 * DAY_MS],
    [-DAY_MS, 0],
    [-HOUR_MS, DAY_MS],
  ] as const;
  for (const [endMs, sweepMs] of cases)
    test(`nothing is removed early by nodes whose clocks are wrong (${endMs / HOUR_MS} h at the end of a run, ${sweepMs / HOUR_MS} h at the sweep)`, async () => {
      const directory = await mkdtemp(join(tmpdir(), 'svc-retention-clocks-'));
      const ports = await openStores({ dataDir: directory, warn: assert.fail });
      let aheadMs: number = endMs;
      const kept = { retentionMs: HOUR_MS, retentionBytes: null };
      const runtime = await startRuntime({
        ...ports,
        clock: { ...systemClock, now: () => Date.now() + aheadMs },
        definitions: [run],
        handlers: [],
        node: 'node-a',
        settings: { partitions: 2, systemPartitions: 1 },
        retention: { policy: retentionPolicy({ runs: kept, ledger: kept, dead_letters: kept }), intervalMs: DAY_MS },
        warn: assert.fail,
      });
      try {
        const [address, messageId] = [addressOf('run', 'acme', randomUUID()), randomUUID()];
        await runtime.client.ask(address, 'Start', { text: '', parent: null }, { messageId });
        await runtime.client.ask(address, 'End', {});
        await waitUntil('it to be archived', async () => (await runtime.client.read(address))?.archived === true);
        const isRecorded = async () => (await runtime.ledger?.message('acme', messageId))?.length === 1;
        await waitUntil('its deliveries to be recorded', isRecorded);
        aheadMs = sweepMs;
        await runtime.sweep();
        assert.equal((await runtime.client.read(address))?.archived, true);
        const segments = await ports.documents.collection(LEDGER);
        assert.ok((await segments.count({ tenant: 'acme' })) > 0);
        assert.ok(await isRecorded());
      } finally {
        await runtime.stop();
        await ports.close();
        await rm(directory, { recursive: true, force: true });
      }
    });
});

/** The promises, each by itself. */
function check(
  documents: readonly ArchivedActor[],
  left: ReadonlySet<string>,
  needed: ReadonlySet<string>,
  live: ReadonlySet<string>,
  ruleOf: (tenant: string) => RetentionRule,
  now: number,
): void {
  const isHeld = (one: ArchivedActor): boolean => {
    const parent = one.parent ?? '';
    return needed.has(one.id) || live.has(parent.split('/')[2] ?? '') || left.has(parent);
  };
  for (const tenant of TENANTS) {
    const { retentionMs, retentionBytes } = ruleOf(tenant);
    const own = documents.filter((one) => one.tenant === tenant);
    const isOld = (one: ArchivedActor): boolean => retentionMs !== null && now - (one.ended_at ?? 0) > retentionMs;
    const bytesLeft = own.filter(({ id }) => left.has(id)).reduce((sum, { bytes = 0 }) => sum + bytes, 0);
    for (const one of own) {
      if (needed.has(one.id) || live.has((one.parent ?? '').split('/')[2] ?? '')) {
        assert.ok(left.has(one.id), 'what something that runs needs is kept');
      }
      if (isOld(one) && !isHeld(one)) assert.ok(!left.has(one.id), 'what is too old and not needed is gone');
      if (retentionBytes === null && !isOld(one)) assert.ok(left.has(one.id), 'what is young enough is kept');
    }
    if (retentionBytes === null) continue;
    const free = own.filter((one) => left.has(one.id) && !isHeld(one));
    assert.ok(bytesLeft <= retentionBytes || free.length === 0, `${bytesLeft} bytes are kept of ${retentionBytes}`);
  }
}

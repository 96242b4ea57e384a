import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { after, before, describe } from 'node:test';
import { z } from 'zod';
import { type Address, addressOf, parseAddress } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import type { Json } from '../../runtime/json.ts';
import { ARCHIVED_ACTORS, type ArchivedActor } from '../../runtime/projection/archive.ts';
import { type RetentionRule, retentionPolicy } from '../../runtime/retention/retention.ts';
import { type Runtime, type RuntimeParts, startRuntime } from '../../runtime/runtime.ts';
import { createPayloads } from '../../runtime/turns/payload.ts';
import { CutOff } from '../support/cut-off.ts';
import { eachNth, sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { readLedger } from './actor-lines.ts';
import type { KernelStores } from './kernel.ts';

const RunState = z.object({ text: z.string(), over: z.boolean(), parent: z.string().nullable() });

/** A run that stores its input and ends on request; `parent` is the id of the run that it belongs to. */
export const run = defineActor({
  kind: 'run',
  version: 1,
  state: RunState,
  initial: () => ({ text: '', over: false, parent: null }),
  messages: {
    Start: z.object({ text: z.string(), parent: z.string().nullable() }),
    End: z.object({}),
    Break: z.object({}),
  },
  events: { Began: z.object({ text: z.string() }), Ended: z.object({}) },
  creates: ['Start'],
  on: {
    Start(_state, { text, parent }, turn) {
      turn.emit('Began', { text });
      turn.reply(turn.self);
      return { text, parent, over: false };
    },
    End(state, _, turn) {
      turn.emit('Ended', {});
      turn.reply('over');
      return { ...state, over: true };
    },
    Break() {
      throw new Error('this handler is broken');
    },
  },
  view: { collection: 'runs', project: ({ over }, { tenant, id }) => ({ tenant, id, over }) },
  done: ({ over }) => over,
  belongsTo: ({ parent }, { tenant }) => (parent === null ? null : `run/${tenant}/${parent}`),
});
/** The same, for an actor that belongs to its run. */
const part = defineActor({
  ...run,
  kind: 'part',
  isPart: true,
  view: { collection: 'parts', project: ({ over }, { tenant, id }) => ({ tenant, id, over }) },
});

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LARGE_CHARS = 100 * 1_024;

/**
 * The promises of a node about removal, over any set of adapters. In a normal run every `nth` promise, where other adapters
 * show all of them.
 */
export function retentionContract(
  name: string,
  make: () => Promise<KernelStores>,
  /** A removal is cut off after every write, or after about every third one where a restart of the node takes long. */
  cutEvery = 1,
  nth = 1,
): void {
  describe(`retention on ${name}`, { timeout: 300_000 }, () => {
    const test = eachNth(nth);
    let stores: KernelStores;
    let ports: Awaited<ReturnType<KernelStores['open']>>;
    let runtime: Runtime;
    let cutOff: CutOff;
    let shiftMs = 0;
    const needed = new Set<Address>();
    /** Removed actors all of whose records were removed. */
    const forgotten = new Set<Address>();
    const policy = retentionPolicy(
      {
        runs: { retentionMs: DAY_MS, retentionBytes: null },
        ledger: { retentionMs: HOUR_MS, retentionBytes: null },
        dead_letters: { retentionMs: DAY_MS, retentionBytes: null },
      },
      new Map<string, Record<string, Partial<RetentionRule>>>([
        ['thrifty', { runs: { retentionBytes: 1_000 } }],
        ['hoarder', { runs: { retentionMs: null }, dead_letters: { retentionMs: null } }],
      ]),
    );

    const start = async (settings: RuntimeParts['settings'] = {}): Promise<void> => {
      ports = await stores.open();
      cutOff = new CutOff();
      runtime = await startRuntime({
        ...ports,
        documents: cutOff.documents(ports.documents),
        blobs: cutOff.blobs(ports.blobs),
        clock: { ...systemClock, now: () => Date.now() + shiftMs },
        definitions: [run, part],
        handlers: [],
        node: 'node-a',
        settings: {
          partitions: 2,
          systemPartitions: 1,
          removalsGuardedMs: 1_500,
          retry: { maxAttempts: 2, initialDelayMs: 5, maxDelayMs: 10 },
          ...settings,
        },
        // Removal does not start by itself here: tests start it.
        retention: {
          ...{
            policy,
            intervalMs: 24 * HOUR_MS,
            now: async () => Date.now() + shiftMs,
            neededOf: async (_: string, asked: readonly Address[]) => new Set(asked.filter((one) => needed.has(one))),
          },
          forget: async (_tenant, gone) => {
            for (const address of gone) forgotten.add(address);
          },
        },
        warn: () => undefined,
      });
    };
    const stop = async (): Promise<void> => {
      await runtime.stop();
      await ports.close();
    };
    before(async () => {
      stores = await make();
      await start();
    });
    after(async () => {
      await stop();
      await stores.destroy();
    });

    const ask = (to: Address, type: string, payload: Json = {}): Promise<Json> => runtime.client.ask(to, type, payload);
    const begun = async (given: { kind?: string; tenant?: string; text?: string; parent?: Address } = {}) => {
      const { kind = 'run', tenant = 'acme', text = 'a', parent } = given;
      const address = addressOf(kind, tenant, randomUUID());
      await ask(address, 'Start', { text, parent: parent === undefined ? null : parseAddress(parent).id });
      return address;
    };
    const archived = (address: Address) =>
      waitUntil(`${address} in the archive`, () => runtime.archive.loadRecord(address));
    const ends = async (address: Address): Promise<Address> => {
      await ask(address, 'End');
      await archived(address);
      await waitUntil('it to leave the store', async () => (await runtime.client.read(address))?.archived === true);
      return address;
    };
    const ended = async (given: Parameters<typeof begun>[0] = {}): Promise<Address> => ends(await begun(given));
    /** Every place with possible data of an actor. */
    const tracesOf = async (address: Address): Promise<string[]> => {
      const { tenant, kind, id } = parseAddress(address);
      const { documents, store } = ports;
      const partition = await runtime.client.partitionOf(address);
      const found: string[] = [];
      const note = (what: string, isThere: boolean): void => {
        if (isThere) found.push(what);
      };
      const list = (collection: string) => documents.collection({ name: collection, unique: [], indexes: [] });
      note('record', (await store.load(partition, [address]))[0] !== null);
      note('events', (await store.readEvents(partition, address, 0, 1)).length > 0);
      note('read', (await runtime.client.read(address)) !== null);
      note('read events', (await runtime.client.events(address, 0, 10)).length > 0);
      note('archive', (await runtime.archive.loadRecord(address)) !== null);
      note('archived events', (await (await list('archived_events')).count({ tenant, where: { address } })) > 0);
      note('list', (await (await list(`${kind}s`)).get(tenant, id)) !== null);
      note('dead letters', (await (await list('dead_letters')).count({ tenant, where: { address } })) > 0);
      note('removal', (await (await list('removals')).get(tenant, address)) !== null);
      const payloads = createPayloads(ports.blobs);
      for await (const _ of readLedger(documents, payloads, { tenant, address, partition })) {
        found.push('ledger');
        break;
      }
      return found;
    };
    /** The ledger has its own rule: rows of records that are removed by age may be written, or stay a little longer. */
    const keptOf = async (address: Address) => (await tracesOf(address)).filter((trace) => trace !== 'ledger');
    const refOf = async (address: Address): Promise<string> => {
      const partition = await runtime.client.partitionOf(address);
      const [text] = await ports.store.load(partition, [address]);
      return text?.split('/')[1] ?? '';
    };
    const isStored = (tenant: string, ref: string): Promise<boolean> =>
      ports.blobs.get(tenant, ref).then(
        () => true,
        () => false,
      );
    const leavesNothing = (address: Address) =>
      waitUntil(`nothing of ${address}`, async () => {
        await runtime.sweep();
        return (await tracesOf(address)).length === 0;
      });

    test('an actor deleted right after its end leaves no records, before and after it is archived', async () => {
      for (const waitMs of [0, 50, 130, 400]) {
        const large = await begun({ text: 'x'.repeat(LARGE_CHARS) });
        const other = await begun();
        const ref = await refOf(large);
        await ask(large, 'End');
        await new Promise((resolve) => systemClock.after(waitMs, () => resolve(undefined)));
        await runtime.removals.ask(large);
        await runtime.removals.finish(large);
        await leavesNothing(large);
        assert.equal(await isStored('acme', ref), false, 'its payloads are gone');
        assert.deepEqual((await runtime.client.read(other))?.archived, false);
      }
    });

    test('actors deleted together leave no records, whatever deliveries are stored beside theirs', async () => {
      const all = await Promise.all(Array.from({ length: 6 }, () => begun()));
      const [stays, ...going] = all;
      await Promise.all(all.map((address) => ask(address, 'End')));
      await Promise.all(all.map(archived));
      await Promise.all(going.map((address) => runtime.removals.ask(address)));
      await Promise.all(going.map((address) => runtime.removals.finish(address)));
      for (const address of going) await leavesNothing(address);
      assert.ok(stays !== undefined && (await tracesOf(stays)).includes('ledger'));
    });

    test('an actor that is deleted while the projector is late leaves no records once documents are available again', async () => {
      cutOff.list = 'runs';
      const address = await begun();
      await ask(address, 'Break').catch(() => undefined);
      await ask(address, 'End');
      await runtime.removals.ask(address);
      assert.equal(await runtime.removals.finish(address), false);
      // A restarted node finds the removal.
      await stop();
      await start();
      await leavesNothing(address);
    });

    test('records older than their rule are deleted, and no newer ones and none of others', async () => {
      const old = await ended({ text: 'x'.repeat(LARGE_CHARS) });
      const running = await begun();
      const hoarded = await ended({ tenant: 'hoarder' });
      shiftMs += DAY_MS + 1_000;
      const young = await ended();
      const swept = await runtime.sweep();
      assert.ok((swept.runs ?? 0) >= 1);
      assert.deepEqual(await keptOf(old), []);
      assert.ok(forgotten.has(old), 'records that name it are removed too');
      assert.ok(!forgotten.has(young) && !forgotten.has(running) && !forgotten.has(hoarded));
      assert.equal((await runtime.client.read(running))?.archived, false);
      assert.equal((await runtime.client.read(young))?.archived, true);
      assert.equal((await runtime.client.events(young, 0, 10)).length, 2);
      assert.equal((await runtime.client.read(hoarded))?.archived, true, 'a tenant has rules of its own');
    });

    test('the oldest records of a tenant over its size limit are deleted until it fits', async () => {
      const runs: Address[] = [];
      for (let count = 0; count < 6; count += 1) {
        runs.push(await ended({ tenant: 'thrifty', text: 'y'.repeat(100) }));
        shiftMs += 1_000;
      }
      const actors = await ports.documents.collection<ArchivedActor>(ARCHIVED_ACTORS);
      const before = await actors.total({ tenant: 'thrifty' }, 'bytes');
      assert.ok(before > 1_000, `${before} bytes`);
      await runtime.sweep();
      const left = await actors.total({ tenant: 'thrifty' }, 'bytes');
      assert.ok(left <= 1_000 && left > 400, `${left} bytes of ${before} are left`);
      const there = await Promise.all(runs.map(async (address) => (await runtime.client.read(address)) !== null));
      assert.deepEqual(there, [...there].sort(), 'the oldest were removed');
    });

    test('no record that a running run needs is deleted: a child of a running run stays, and is removed with it', async () => {
      const parent = await begun();
      const child = await ended({ parent });
      const wanted = await ended();
      needed.add(wanted);
      shiftMs += 2 * DAY_MS;
      await runtime.sweep();
      for (const kept of [child, wanted]) assert.equal((await runtime.client.read(kept))?.archived, true);
      await ends(parent);
      await runtime.sweep();
      assert.equal((await runtime.client.read(child))?.archived, true, 'as long as its parent is kept');
      needed.delete(wanted);
      shiftMs += 2 * DAY_MS;
      await runtime.sweep();
      await runtime.sweep();
      for (const gone of [parent, child, wanted]) assert.deepEqual(await keptOf(gone), []);
    });

    test('parts of a deleted run are deleted with it; a run that it started stays', async () => {
      const parent = await begun();
      const approval = await ended({ kind: 'part', parent });
      const child = await ended({ parent });
      await ask(parent, 'End');
      await runtime.removals.ask(parent);
      await leavesNothing(parent);
      assert.equal(await runtime.client.read(approval), null);
      assert.equal((await runtime.client.read(child))?.archived, true);
    });

    test('rows of the ledger and dead letters are deleted by their own age', async () => {
      const address = await begun({ tenant: 'letters' });
      await ask(address, 'Break').catch(() => undefined);
      const letters = await ports.documents.collection({ name: 'dead_letters', unique: [], indexes: [] });
      const ledger = await ports.documents.collection({ name: 'ledger', unique: [], indexes: [] });
      const count = async (all: typeof letters) => all.count({ tenant: 'letters' });
      await waitUntil('both', async () => (await count(letters)) > 0 && (await count(ledger)) > 0);
      // The store's clock says when a message was appended and handled, and it is not shifted.
      shiftMs = 2 * HOUR_MS;
      await runtime.sweep();
      assert.deepEqual([await count(letters), await count(ledger)], [1, 0]);
      shiftMs += 2 * DAY_MS;
      await runtime.sweep();
      assert.equal(await count(letters), 0);
    });

    test('records that an earlier version archived age from the first sweep on', async () => {
      const address = await ended();
      const actors = await ports.documents.collection<ArchivedActor>(ARCHIVED_ACTORS);
      const { retained_as, ended_at, bytes, parent, view_id, ...earlier } = (await actors.get('acme', address)) ?? {
        ...{ tenant: 'acme', id: address, version: 0, kind: 'run', record: '', last_event: 0 },
      };
      assert.deepEqual([retained_as, parent, view_id], ['runs', null, parseAddress(address).id]);
      assert.ok((ended_at ?? 0) > 0 && (bytes ?? 0) > 0);
      assert.equal(await actors.replace(earlier, earlier.version), true);
      shiftMs += 3 * DAY_MS;
      await runtime.sweep();
      assert.equal((await runtime.client.read(address))?.archived, true);
      shiftMs += DAY_MS + 1_000;
      await runtime.sweep();
      assert.deepEqual(await keptOf(address), []);
    });

    test('a removal that is cut off at any write is finished by the next sweep', async () => {
      await runtime.sweep();
      const every = cutEvery * sample({ normal: 3, long: 1 });
      for (let writes = randomInt(every); ; writes += every) {
        assert.ok(writes < 60, 'a removal has an end');
        const old = await ended({ text: 'x'.repeat(LARGE_CHARS) });
        const approval = await ended({ kind: 'part', parent: old });
        shiftMs += DAY_MS + 1_000;
        const young = await ended();
        cutOff.after(writes);
        await runtime.sweep().catch(() => undefined);
        const cut = cutOff.isCut;
        await stop();
        await start();
        // A partly removed run is never visible: it can be read completely, or it is unknown.
        const read = await runtime.client.read(old);
        const events = await runtime.client.events(old, 0, 10);
        assert.ok(
          read === null || events.length === 2,
          `after ${writes} writes it is read with ${events.length} events`,
        );
        await runtime.sweep();
        await runtime.sweep();
        for (const gone of [old, approval]) assert.deepEqual(await keptOf(gone), [], `after ${writes} writes`);
        assert.equal((await runtime.client.read(young))?.archived, true);
        if (!cut) return;
      }
    });
  });
}

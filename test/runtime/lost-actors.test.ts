import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { z } from 'zod';
import { type Address, addressOf, type Partition } from '../../runtime/address.ts';
import { defineActor, Registry } from '../../runtime/define-actor.ts';
import type { Collection, StoredDocument } from '../../runtime/documents.ts';
import { Archive } from '../../runtime/projection/archive.ts';
import { LostActors } from '../../runtime/projection/lost-actors.ts';
import { openViews } from '../../runtime/projection/views.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { encodeRecord } from '../../runtime/turns/record.ts';
import { HandClock } from '../support/hand-clock.ts';
import { waitUntil } from '../support/wait-until.ts';

const run = defineActor({
  kind: 'run',
  version: 1,
  state: z.object({ status: z.enum(['running', 'ended']) }),
  initial: () => ({ status: 'running' as const }),
  messages: { Step: z.object({}) },
  events: {},
  on: { Step: (state) => state },
  view: {
    collection: 'runs',
    indexes: [['status']],
    open: { status: 'running' },
    project: ({ status }, { tenant, id }) => ({ tenant, id, status }),
  },
  done: ({ status }) => status === 'ended',
});

const PARTITION: Partition = 'default:0';
const lookup = { tenant: 'acme', id: 'one' };
const ONE = addressOf('run', lookup.tenant, lookup.id);

const recordOf = (revision: number, status: 'running' | 'ended'): string =>
  encodeRecord(1, { revision, lastEvent: 0, timers: {}, effects: [], stuck: null, state: { status } });

/** Documents of a version of the actor, as the projection writes them. */
const listed = (version: number, status = 'running'): StoredDocument & { status: string } => ({
  ...lookup,
  version,
  status,
});

describe('lists of a store that went back, while its partitions are served', () => {
  let directory: string;
  let documents: SqliteDocuments;
  let runs: Collection<StoredDocument>;
  let archive: Archive;
  let warnings: string[];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-lost-'));
    documents = new SqliteDocuments({ directory });
    await documents.open();
    archive = await Archive.open(documents);
    warnings = [];
  });
  afterEach(async () => {
    await documents.close();
    await rm(directory, { recursive: true, force: true });
  });

  /** One check; `load` answers for the store. */
  async function check(load: (addresses: readonly Address[]) => Promise<readonly (string | null)[]>): Promise<void> {
    const registry = new Registry([run], [{ pool: 'default', partitions: 1 }]);
    const views = await openViews(documents, registry);
    const clock = new HandClock();
    let looked = 0;
    const lost = new LostActors({
      store: {
        async load(_partition, addresses) {
          looked += 1;
          return load(addresses);
        },
      },
      registry,
      payloads: { unpack: (text) => text },
      views,
      archive,
      locator: { locate: async () => PARTITION },
      clock,
      warn: (message) => void warnings.push(message),
    });
    lost.lookIn([PARTITION]);
    await clock.pass(1_000);
    await waitUntil('the check has begun', () => looked > 0);
    await lost.stop();
  }

  const found = async (): Promise<unknown> => runs.get(lookup.tenant, lookup.id);

  beforeEach(async () => {
    const registry = new Registry([run], [{ pool: 'default', partitions: 1 }]);
    const open = (await openViews(documents, registry)).get('runs');
    assert.ok(open !== undefined);
    runs = open;
  });

  test('a list that is ahead of a record says what the record says', async () => {
    await runs.put(listed(11));
    await check(async () => [recordOf(10, 'running')]);
    assert.deepEqual(await found(), listed(10));
  });

  test('an actor that ends between the read of its list and the read of its record stays ended', async () => {
    await runs.put(listed(11));
    await check(async () => {
      await runs.put(listed(12, 'ended'));
      return [recordOf(10, 'running')];
    });
    assert.deepEqual(await found(), listed(12, 'ended'));
  });

  test('an actor without a record leaves the list; one whose record cannot be read stays', async () => {
    await runs.put(listed(11));
    await check(async () => ['{"v":1,"broken']);
    assert.deepEqual(await found(), listed(11));
    await check(async () => [JSON.stringify({ ...JSON.parse(recordOf(11, 'running')), v: 2 })]);
    assert.deepEqual(await found(), listed(11));
    await check(async () => [null]);
    assert.equal(await found(), null);
  });

  test('a run that was lost, ran again and ended with fewer changes is listed as ended', async () => {
    await runs.put(listed(45));
    const ended = { partition: PARTITION, address: ONE, record: recordOf(8, 'ended'), revision: 8, lastEvent: 0 };
    const retained = { retainedAs: 'runs', endedAt: 1, bytes: 10, parent: null, viewId: lookup.id };
    await archive.store({ readEvents: async () => [] }, [{ ...ended, ...retained }]);
    await check(async () => [null]);
    assert.deepEqual(await found(), listed(8, 'ended'));
  });

  test('a run that was archived, and whose node failed before it was listed as ended, is listed as ended', async () => {
    await runs.put(listed(11));
    const ended = { partition: PARTITION, address: ONE, record: recordOf(12, 'ended'), revision: 12, lastEvent: 0 };
    const retained = { retainedAs: 'runs', endedAt: 1, bytes: 10, parent: null, viewId: lookup.id };
    await archive.store({ readEvents: async () => [] }, [{ ...ended, ...retained }]);
    await check(async () => [null]);
    assert.deepEqual(await found(), listed(12, 'ended'));
  });

  test('an actor that starts again while its list entry is removed is listed', async () => {
    await runs.put(listed(11));
    let looks = 0;
    await check(async () => {
      looks += 1;
      return [looks === 1 ? null : recordOf(1, 'running')];
    });
    assert.deepEqual(await found(), listed(1));
    assert.deepEqual(warnings, []);
  });

  test('a state that makes no list document is named, and stops nothing', async () => {
    await runs.put(listed(11));
    await runs.put({ ...listed(7), id: 'two' });
    const odd = JSON.parse(recordOf(10, 'running'));
    await check(async (addresses) =>
      addresses.map((address) => (address === ONE ? JSON.stringify({ ...odd, s: { status: 'odd' } }) : null)),
    );
    assert.deepEqual(await found(), listed(11));
    assert.equal(await runs.get('acme', 'two'), null);
  });
});

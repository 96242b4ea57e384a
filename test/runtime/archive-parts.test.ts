import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Address, addressOf } from '../../runtime/address.ts';
import { Archive, type EndedActor, SEGMENT_EVENTS } from '../../runtime/projection/archive.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';

const endedWith = (lastEvent: number): EndedActor => ({
  partition: 'default:0',
  address: addressOf('thing', 'acme', randomUUID()),
  ...{ record: '{}', revision: 1, lastEvent },
  ...{ retainedAs: 'runs', endedAt: 1, bytes: 2, parent: null, viewId: 'one' },
});

test('long actors are archived in several parts, so that no more events are in memory than 16 full segments have', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-archive-'));
  const documents = new SqliteDocuments({ directory });
  t.after(async () => {
    await documents.close();
    await rm(directory, { recursive: true });
  });
  await documents.open();
  const archive = await Archive.open(documents);
  const long = Array.from({ length: 40 }, () => endedWith(SEGMENT_EVENTS + 1));
  const short = Array.from({ length: 100 }, () => endedWith(3));
  const all = [...long.slice(0, 20), ...short, ...long.slice(20)];
  const lasts = new Map<Address, number>(all.map(({ address, lastEvent }) => [address, lastEvent]));
  let most = 0;
  const read = { calls: 0, events: 0 };
  const store = {
    readEvents: async (_partition: string, address: Address, after: number, limit: number) => {
      const count = Math.min(limit, (lasts.get(address) ?? 0) - after);
      // All events of one part are read before any other call.
      if (read.calls === 0) setImmediate(() => Object.assign(read, { calls: 0, events: 0 }));
      read.calls += 1;
      read.events += count;
      most = Math.max(most, read.events);
      return Array.from({ length: count }, (_, index) => ({ seq: after + 1 + index, data: '{}' }));
    },
  };
  await archive.store(store, all);
  assert.ok(most <= 16 * SEGMENT_EVENTS, `${most} events at a time`);
  assert.ok(most >= 15 * SEGMENT_EVENTS, `${most} events at a time`);
  for (const { address, lastEvent } of all) {
    assert.equal((await archive.readEvents(address, 0, 1_000)).length, lastEvent);
    assert.equal(await archive.loadRecord(address), '{}');
  }
});

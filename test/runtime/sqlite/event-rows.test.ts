import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import { SqliteActorStore } from '../../../runtime/sqlite/actor-store.ts';
import { FORMAT } from '../../../runtime/store-formats.ts';
import { commitOf } from '../../contract/store-under-test.ts';

const PARTITION: Partition = 'default:1';
const self = addressOf('thing', 'tenant-a', 'one');
const MOST_TOGETHER = 16;
const CHARS_TOGETHER = 16_384;

/** Gives a file of this format the tables and the version of format 6. Rows must be as format 6 writes them. */
function toFormat6(database: DatabaseSync): void {
  database.exec('ALTER TABLE events DROP COLUMN lengths;');
  database.exec(`DELETE FROM facts WHERE name = 'format.${FORMAT}'; PRAGMA user_version = 6;`);
}

/** A store on a new file, and a function that commits events of one actor. */
async function withEvents(test: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'svc-event-rows-'));
  const path = join(directory, 'actors.db');
  let store = new SqliteActorStore({ directory });
  test.after(async () => {
    await store.close();
    await rm(directory, { recursive: true });
  });
  let written = 0;
  const lease = async () => {
    const granted = await store.acquire(PARTITION, 'node-a', randomUUID(), 600_000);
    assert.ok(granted.kind === 'granted');
    return granted.lease;
  };
  await store.open();
  let held = await lease();
  return {
    read: (after: number, limit: number) => store.readEvents(PARTITION, self, after, limit),
    rows(): number {
      const database = new DatabaseSync(path, { readOnly: true });
      const row = database.prepare('SELECT count(*) AS count FROM events').get();
      database.close();
      return Number(row?.count);
    },
    async commit(data: readonly string[]): Promise<void> {
      const events = [{ address: self, first: written + 1, data }];
      assert.equal((await store.commit(commitOf(held, 0, 0, { events }), 10)).kind, 'committed');
      written += data.length;
    },
    /** Closes the store, lets `change` write the file, and opens it again. It then has nothing in memory. */
    async reopen(change: (database: DatabaseSync) => void = () => {}): Promise<void> {
      await store.close();
      const database = new DatabaseSync(path);
      change(database);
      database.close();
      store = new SqliteActorStore({ directory });
      await store.open();
      held = await lease();
    },
  };
}

const numbered = (count: number, text = 'e') => Array.from({ length: count }, (_, index) => `${text}${index + 1}`);

describe('events of the embedded store', () => {
  it('the events of one commit share a row, up to 16 of them and 16,384 characters', async (test) => {
    const { commit, rows, read, reopen } = await withEvents(test);
    await commit(numbered(12));
    assert.equal(rows(), 1);
    await commit(numbered(2 * MOST_TOGETHER + 1));
    assert.equal(rows(), 1 + 3);
    const long = 'x'.repeat(CHARS_TOGETHER / 2);
    await commit([long, long, long, 'short']);
    assert.equal(rows(), 1 + 3 + 2);
    const expected = [...numbered(12), ...numbered(33), long, long, long, 'short'];
    await reopen();
    assert.deepEqual(
      await read(0, 100),
      expected.map((data, index) => ({ seq: index + 1, data })),
    );
  });

  it('a file of format 6, with a row for each event, is read; later rows have several, and format 6 is refused', async (test) => {
    const { commit, rows, read, reopen } = await withEvents(test);
    for (const one of numbered(5, 'apart')) await commit([one]);
    await reopen(toFormat6);
    await commit(numbered(5, 'together'));
    assert.equal(rows(), 6);
    await reopen((database) => {
      assert.equal(database.prepare('PRAGMA user_version').get()?.user_version, FORMAT);
    });
    assert.deepEqual(
      await read(3, 4),
      ['apart4', 'apart5', 'together1', 'together2'].map((data, index) => ({ seq: index + 4, data })),
    );
  });

  it('a page has the events behind its beginning, in order, wherever rows begin and end', async (test) => {
    const { commit, read, reopen } = await withEvents(test);
    const sizes = [1, 3, 16, 17, 2, 40, 1, 1, 5];
    // Texts that have other lengths in bytes, and an empty one.
    const data = sizes.flatMap((size) => numbered(size, 'é€😀')).map((text, index) => (index === 30 ? '' : text));
    let from = 0;
    for (const size of sizes) {
      await commit(data.slice(from, from + size));
      from += size;
    }
    await reopen();
    const all = data.map((text, index) => ({ seq: index + 1, data: text }));
    const pages = fc.asyncProperty(fc.nat(all.length + 2), fc.integer({ min: 1, max: 40 }), async (after, limit) => {
      assert.deepEqual(await read(after, limit), all.slice(after, after + limit));
    });
    await fc.assert(pages, { numRuns: 200 });
  });
});

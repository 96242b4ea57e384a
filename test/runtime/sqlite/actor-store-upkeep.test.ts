import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import type { Address, Partition } from '../../../runtime/address.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { SqliteActorStore } from '../../../runtime/sqlite/actor-store.ts';
import { FORMAT } from '../../../runtime/store-formats.ts';
import { at, commitOf, eventually } from '../../contract/store-under-test.ts';

/** A clock that the test advances. */
class ManualClock implements Clock {
  #now = 1_700_000_000_000;
  readonly #calls = new Set<{ readonly due: number; readonly call: () => void }>();

  now = () => this.#now;
  monotonic = () => this.#now;

  after(delayMs: number, call: () => void): () => void {
    const entry = { due: this.#now + delayMs, call };
    this.#calls.add(entry);
    return () => this.#calls.delete(entry);
  }

  advance(ms: number): void {
    this.#now += ms;
    for (const entry of [...this.#calls]) {
      if (entry.due > this.#now) continue;
      this.#calls.delete(entry);
      entry.call();
    }
  }
}

const TO: Address = 'thing/t/one';
const PARTITION = 'default:0';

interface Setup {
  readonly clock: ManualClock;
  readonly store: SqliteActorStore;
  readonly directory: string;
  /** A number asked from the data file by a connection of its own. */
  query(sql: string): number;
}

async function withStore(test: (setup: Setup) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-actor-store-'));
  const clock = new ManualClock();
  const store = new SqliteActorStore({ directory, clock });
  await store.open();
  const reader = new DatabaseSync(join(directory, 'actors.db'), { readOnly: true });
  try {
    await test({ clock, store, directory, query: (sql) => Number(Object.values(reader.prepare(sql).get() ?? {})[0]) });
  } finally {
    reader.close();
    await store.close();
    await rm(directory, { recursive: true });
  }
}

/** Appends messages, handles them with an answer each, trims; answers their ids. */
async function handle({ store }: Setup, count: number, size = 100): Promise<string[]> {
  const deliveries = Array.from({ length: count }, () => ({ id: randomUUID(), to: TO, body: 'x'.repeat(size) }));
  await store.append(PARTITION, deliveries, 1_000_000);
  const outcome = await store.acquire(PARTITION, 'node', randomUUID(), 1_000_000);
  assert.ok(outcome.kind === 'granted');
  const { lease, cursor } = outcome;
  const ids = deliveries.map((delivery) => delivery.id);
  const change = {
    journal: 'row',
    replies: ids.map((messageId) => ({ session: 's', messageId, body: 'answer' })),
    handled: [{ address: TO, count }],
  };
  assert.equal((await store.commit(commitOf(lease, cursor, cursor + count, change), 0)).kind, 'committed');
  await store.trimJournal(lease, cursor + count);
  return ids;
}

/** Lets the sweep run until the file holds no rows of handled messages. */
async function swept({ clock, query }: Setup): Promise<void> {
  const sql = 'SELECT (SELECT count(*) FROM mailbox) + (SELECT count(*) FROM replies) + (SELECT count(*) FROM journal)';
  await eventually('everything old is swept', () => {
    clock.advance(1_000);
    return query(sql) === 0;
  });
}

const again = async (store: SqliteActorStore, id: string) =>
  at(await store.append(PARTITION, [{ id, to: TO, body: 'again' }], 1_000_000), 0);

describe('upkeep of the data file', () => {
  it('ids and answers are remembered for 60 s, then forgotten with their rows', () =>
    withStore(async (setup) => {
      const [id] = await handle(setup, 1);
      assert.ok(id);
      setup.clock.advance(59_000);
      assert.deepEqual(await again(setup.store, id), { kind: 'duplicate', reply: 'answer' });
      setup.clock.advance(2_000);
      assert.equal(await setup.store.recallReply(PARTITION, id), 'answer');
      await swept(setup);
      assert.equal(await setup.store.recallReply(PARTITION, id), null);
      assert.deepEqual(await again(setup.store, id), { kind: 'accepted', seq: 2 });
    }));

  it('a renewed claim waits for no disk, and the commit after it does', (t) =>
    withStore(async ({ store }) => {
      const got = await store.acquire(PARTITION, 'node', randomUUID(), 1_000_000);
      assert.ok(got.kind === 'granted');
      const started = { runner: 'node/life', ttlMs: 60_000 };
      const effect = { id: randomUUID(), queue: 'q', address: TO, mode: 'repeatable' as const, body: '{}', started };
      await store.commit(commitOf(got.lease, 0, 0, { effectsOpened: [effect] }), 0);
      const exec = t.mock.method(DatabaseSync.prototype, 'exec');
      try {
        assert.equal(await store.keepEffect(PARTITION, effect.id, 1, 60_000), true);
        await store.commit(commitOf(got.lease, 0, 0, { effectsCancelled: [effect.id] }), 0);
        const modes = exec.mock.calls.map(({ arguments: [sql] }) => sql);
        assert.deepEqual(modes, ['PRAGMA synchronous = NORMAL', 'PRAGMA synchronous = FULL']);
      } finally {
        exec.mock.restore();
      }
    }));

  it('an id is forgotten after 4,096 later messages', () =>
    withStore(async (setup) => {
      const [id] = await handle(setup, 1);
      assert.ok(id);
      await handle(setup, 4_095);
      assert.equal((await again(setup.store, id)).kind, 'duplicate');
      await handle(setup, 2);
      assert.equal((await again(setup.store, id)).kind, 'accepted');
    }));

  it('the id of a message that waits is never forgotten', () =>
    withStore(async (setup) => {
      const id = randomUUID();
      await again(setup.store, id);
      setup.clock.advance(3_600_000);
      for (let call = 0; call < 5; call++) {
        const later = Array.from({ length: 1_000 }, () => ({ id: randomUUID(), to: TO, body: '' }));
        await setup.store.append(PARTITION, later, 1_000_000);
      }
      assert.deepEqual(await again(setup.store, id), { kind: 'duplicate', reply: null });
    }));

  it('the file does not grow with the messages that went through it', () =>
    withStore(async (setup) => {
      const sizes: number[] = [];
      for (let round = 0; round < 6; round++) {
        await handle(setup, 500, 2_000);
        setup.clock.advance(61_000);
        await swept(setup);
        sizes.push(setup.query('PRAGMA page_count'));
      }
      const [first, ...later] = sizes;
      assert.ok(first !== undefined);
      for (const size of later) assert.ok(size <= first * 1.1, `pages after each round: ${sizes.join(', ')}`);
    }));

  it('a commit the file refuses half-way leaves no trace, and the calls grouped with it are stored once', () =>
    withStore(async (setup) => {
      const { store } = setup;
      await handle(setup, 3);
      const outcome = await store.acquire(PARTITION, 'node', randomUUID(), 1_000_000);
      assert.ok(outcome.kind === 'granted');
      const { lease, cursor } = outcome;
      const event = (data: string) => ({ events: [{ address: TO, first: 1, data: [data] }] });
      await store.commit(commitOf(lease, cursor, cursor, event('first')), 0);
      const before = { id: randomUUID(), to: TO, body: 'before' };
      const behind = { id: randomUUID(), to: TO, body: 'behind' };
      const fresh = 'default:7';
      const targets: Partition[] = [PARTITION, fresh];
      const [one, failed, two, there] = await Promise.allSettled([
        store.append(PARTITION, [before], 10),
        store.commit(
          commitOf(lease, cursor, cursor + 1, {
            journal: 'half',
            sends: targets.map((partition) => ({ partition, delivery: before })),
            timersSet: [{ id: 't', afterMs: 1, delivery: before }],
            handled: [{ address: TO, count: 1 }],
            ...event('taken number'),
          }),
          0,
        ),
        store.append(PARTITION, [behind], 10),
        store.append(fresh, [behind], 10),
      ]);
      assert.ok(failed.status === 'rejected');
      assert.deepEqual(one, { status: 'fulfilled', value: [{ kind: 'accepted', seq: cursor + 1 }] });
      assert.deepEqual(two, { status: 'fulfilled', value: [{ kind: 'accepted', seq: cursor + 2 }] });
      assert.deepEqual(there, { status: 'fulfilled', value: [{ kind: 'accepted', seq: 1 }] });
      const entries = (await store.poll([{ lease, after: cursor }], 10))[0] ?? [];
      assert.deepEqual(
        entries.map((entry) => [entry.seq, entry.body]),
        [
          [cursor + 1, 'before'],
          [cursor + 2, 'behind'],
        ],
      );
      assert.deepEqual([await store.depth(PARTITION, TO), (await store.backlog(PARTITION)).cursor], [2, cursor]);
      assert.deepEqual(await store.readJournal(PARTITION, cursor, 10), []);
      assert.deepEqual(await store.fireTimers([lease]), [null]);
      const { kind } = await store.commit(commitOf(lease, cursor, cursor + 2, { journal: 'whole' }), 0);
      assert.equal(kind, 'committed');
    }));

  it('a data file of a later version is refused by name of both versions', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-actor-store-'));
    const database = new DatabaseSync(join(directory, 'actors.db'));
    database.exec('PRAGMA user_version = 99');
    database.close();
    const store = new SqliteActorStore({ directory });
    const message = new RegExp(`format 99.*formats 1 to ${FORMAT}`);
    await assert.rejects(store.open(), { code: 'failed_precondition', message });
    await assert.rejects(store.open(), { code: 'failed_precondition' });
    await rm(directory, { recursive: true });
  });

  it('a store that cannot write when it is closed says so, and its file and directory are free', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-actor-store-'));
    const store = new SqliteActorStore({ directory });
    await store.open();
    const database = new DatabaseSync(join(directory, 'actors.db'));
    database.exec(`CREATE TRIGGER refuse BEFORE INSERT ON facts BEGIN SELECT RAISE(FAIL, 'no write'); END`);
    await assert.rejects(store.close(), { name: 'SvcError' });
    database.exec('DROP TRIGGER refuse');
    database.close();
    const next = new SqliteActorStore({ directory });
    await next.open();
    await next.close();
    await rm(directory, { recursive: true });
  });

  it('a file that is no database is refused, and the directory is not left locked', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-actor-store-'));
    await writeFile(join(directory, 'actors.db'), 'this is no database, whatever its name says'.repeat(100));
    await assert.rejects(new SqliteActorStore({ directory }).open(), { name: 'SvcError' });
    await rm(join(directory, 'actors.db'));
    const store = new SqliteActorStore({ directory });
    await store.open();
    await store.close();
    await assert.rejects(store.depth(PARTITION, TO), { code: 'unavailable' });
    await rm(directory, { recursive: true });
  });
});

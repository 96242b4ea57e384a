import assert from 'node:assert/strict';
import type { Address, Partition } from '../../runtime/address.ts';
import type { MailboxEntry } from '../../runtime/message.ts';
import { at, commitOf, type MakeStore, type StoreDriver, section } from './store-under-test.ts';

/** All waiting messages of a log that may be for an actor, read in pages of `limit`. */
async function unread(
  { store }: StoreDriver,
  partition: Partition,
  address: Address,
  limit = 10,
): Promise<MailboxEntry[]> {
  const found: MailboxEntry[] = [];
  for (let after = 0; ; ) {
    const page = await store.unread(partition, address, after, limit);
    assert.ok(page.entries.length <= limit, `${page.entries.length} entries on a page of ${limit}`);
    found.push(...page.entries);
    if (page.next === null) return found;
    assert.ok(page.next > after, 'pages move on');
    after = page.next;
  }
}

/** Bodies of the test name their actor, as messages do. */
const named = (entries: readonly MailboxEntry[], name: string): string[] =>
  entries.map(({ body }) => body).filter((body) => body.startsWith(name));

/** Lists of waiting messages. */
export function unreadContract(make: MakeStore): void {
  section('waiting messages', make, (promise) => {
    promise('are read without a lease, from behind the cursor, in pages of any size', async (driver) => {
      const partition = await driver.partition();
      const [one, two] = [driver.address(), driver.address()];
      assert.deepEqual(await driver.store.unread(partition, one, 0, 10), { entries: [], next: null });
      for (let n = 0; n < 5; n++) {
        await driver.append(partition, one, `one ${n}`);
        await driver.append(partition, two, `two ${n}`);
      }
      const bodies = Array.from({ length: 5 }, (_, n) => `one ${n}`);
      for (const limit of [1, 2, 3, 100])
        assert.deepEqual(named(await unread(driver, partition, one, limit), 'one'), bodies, `pages of ${limit}`);
      const lease = await driver.lease(partition);
      const entries = await driver.entries(lease);
      const [first] = await unread(driver, partition, one);
      assert.deepEqual(first, at(entries, 0), 'a message is listed as its reader gets it');
      await driver.mustCommit(lease, 0, 5);
      assert.deepEqual(named(await unread(driver, partition, one), 'one'), bodies.slice(3));
      await driver.mustCommit(lease, 5, 10);
      assert.deepEqual(await driver.store.unread(partition, one, 0, 10), { entries: [], next: null });
    });

    promise('stay for the reader of the mailbox, and a look changes nothing', async (driver) => {
      const partition = await driver.partition();
      const address = driver.address();
      await driver.append(partition, address, 'a', 'b');
      const before = await driver.store.backlog(partition);
      await unread(driver, partition, address);
      assert.deepEqual(await driver.store.backlog(partition), before);
      assert.equal(await driver.store.depth(partition, address), 2);
      assert.deepEqual(await driver.bodies(await driver.lease(partition)), ['a', 'b']);
    });

    promise('have those of timers, effects and other actors among them', async (driver) => {
      const [partition, other] = await driver.partitions(2);
      assert.ok(partition && other);
      const to = driver.address();
      const source = await driver.lease(other);
      const sends = [{ partition, delivery: driver.delivery(to, 'sent') }];
      assert.equal((await driver.store.commit(commitOf(source, 0, 0, { sends }), 0)).kind, 'committed');
      await driver.flush(source);
      await driver.append(partition, to, 'asked');
      assert.deepEqual((await unread(driver, partition, to)).map(({ body }) => body).toSorted(), ['asked', 'sent']);
    });

    promise('that were appended together are read one by one, those of other actors between them', async (driver) => {
      const partition = await driver.partition();
      const [one, two] = [driver.address(), driver.address()];
      const all = Array.from({ length: 600 }, (_, n) => (n % 3 === 0 ? ('one' as const) : ('two' as const)));
      await Promise.all(
        all.map((name, n) => {
          const delivery = { ...driver.delivery(name === 'one' ? one : two, `${name} ${n} é🦀`), fresh: true };
          return driver.store.append(partition, [delivery], 10_000);
        }),
      );
      const bodies = all.flatMap((name, n) => (name === 'one' ? [`one ${n} é🦀`] : []));
      for (const limit of [7, 250, 10_000])
        assert.deepEqual(named(await unread(driver, partition, one, limit), 'one'), bodies, `pages of ${limit}`);
    });

    promise('are looked at in steps, so that one call does not hold up the store', async (driver) => {
      const partition = await driver.partition();
      const [one, other] = [driver.address(), driver.address()];
      const deliveries = Array.from({ length: 1_200 }, (_, n) => driver.delivery(other, `${n} ${'x'.repeat(2_000)}`));
      await driver.store.append(partition, deliveries, 10_000);
      await driver.append(partition, one, 'one');
      const page = await driver.store.unread(partition, one, 0, 10_000);
      assert.deepEqual([named(page.entries, 'one'), page.next !== null], [[], true]);
      assert.deepEqual(named(await unread(driver, partition, one, 10_000), 'one'), ['one']);
    });
  });
}

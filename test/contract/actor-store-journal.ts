import assert from 'node:assert/strict';
import { at, eventually, type MakeStore, section } from './store-under-test.ts';

export function journalContract(make: MakeStore): void {
  section('events, journal, directory', make, (promise) => {
    promise('events are read gap-free from any position, in pages', async (driver) => {
      const partition = await driver.partition();
      const address = driver.address();
      const lease = await driver.lease(partition);
      await driver.mustCommit(lease, 0, 0, { events: [{ address, first: 1, data: ['1', '2', '3'] }] });
      await driver.mustCommit(lease, 0, 0, { events: [{ address, first: 4, data: ['4'] }] });
      await driver.mustCommit(lease, 0, 0, { events: [{ address, first: 5, data: ['5', '6'] }] });
      const read = async (after: number, limit: number) =>
        (await driver.store.readEvents(partition, address, after, limit)).map((event) => {
          assert.equal(event.data, `${event.seq}`);
          return event.seq;
        });
      assert.deepEqual(await read(0, 100), [1, 2, 3, 4, 5, 6]);
      assert.deepEqual(await read(2, 2), [3, 4]);
      assert.deepEqual(await read(6, 10), []);
      assert.deepEqual(await read(99, 10), []);
      assert.deepEqual(await driver.store.readEvents(partition, driver.address(), 0, 10), []);
    });

    promise('an actor that gets events wakes its readers, not those of others', async (driver) => {
      const partition = await driver.partition();
      const [address, other] = [driver.address(), driver.address()];
      const lease = await driver.lease(partition);
      let woken = 0;
      let wrong = 0;
      const stops = [
        driver.store.onEvents(address, (news) => {
          // A call without events shows that the subscription is active.
          if (news !== undefined) woken += 1;
        }),
        driver.store.onEvents(other, (news) => {
          if (news !== undefined) wrong += 1;
        }),
      ];
      let first = 1;
      await eventually('a reader is woken', async () => {
        await driver.mustCommit(lease, 0, 0, { events: [{ address, first, data: ['e'] }] });
        first += 1;
        return woken > 0;
      });
      for (const stop of stops) stop();
      assert.equal(wrong, 0);
    });

    promise('what wakes the readers of an actor has its new events, unless they are long', async (driver) => {
      const partition = await driver.partition();
      const address = driver.address();
      const lease = await driver.lease(partition);
      const told: { readonly seq: number; readonly data: string }[] = [];
      let woken = 0;
      const stop = driver.store.onEvents(address, (news) => {
        woken += 1;
        for (const [index, data] of (news?.data ?? []).entries()) told.push({ seq: (news?.first ?? 0) + index, data });
      });
      let first = 1;
      const append = async (...data: string[]): Promise<void> => {
        await driver.mustCommit(lease, 0, 0, { events: [{ address, first, data }] });
        first += data.length;
      };
      await eventually('a notice of events reaches a reader', async () => {
        await append('é', '🦀 , 2', '');
        return told.length > 0;
      });
      const before = woken;
      await eventually('a reader is woken by a long event', async () => {
        await append('x'.repeat(70_000));
        return woken > before;
      });
      stop();
      const stored = await driver.store.readEvents(partition, address, 0, 1_000);
      for (const one of told) assert.deepEqual(one, stored[one.seq - 1]);
    });

    promise('the journal gives rows in order, each with the entries its commit handled', async (driver) => {
      const partition = await driver.partition();
      const to = driver.address();
      await driver.append(partition, to, 'a', 'b', 'c', 'd', 'e');
      const lease = await driver.lease(partition);
      const entries = await driver.entries(lease);
      await driver.mustCommit(lease, 0, 2, { journal: 'row 1' });
      await driver.mustCommit(lease, 2, 3);
      await driver.mustCommit(lease, 3, 4, { journal: 'row 2 🦀' });
      const rows = await driver.store.readJournal(partition, 0, 10);
      assert.deepEqual(rows, [
        { upTo: 2, row: 'row 1', entries: entries.slice(0, 2) },
        { upTo: 4, row: 'row 2 🦀', entries: entries.slice(3, 4) },
      ]);
      assert.deepEqual(await driver.store.readJournal(partition, 0, 1), rows.slice(0, 1));
      assert.deepEqual(await driver.store.readJournal(partition, 2, 10), rows.slice(1));
      await driver.reopen();
      assert.deepEqual(await driver.store.readJournal(partition, 0, 10), rows);
      assert.deepEqual(await driver.store.readJournal(partition, 4, 10), []);
    });

    promise('a trim forgets rows and entries up to its position, never past the cursor', async (driver) => {
      const partition = await driver.partition();
      const to = driver.address();
      await driver.append(partition, to, 'a', 'b', 'c', 'd');
      const lease = await driver.lease(partition);
      await driver.mustCommit(lease, 0, 1, { journal: 'row 1' });
      await driver.mustCommit(lease, 1, 2, { journal: 'row 2' });
      await driver.store.trimJournal(lease, 1);
      assert.deepEqual(
        (await driver.store.readJournal(partition, 0, 10)).map((row) => row.row),
        ['row 2'],
      );
      await driver.store.trimJournal(lease, 1_000);
      assert.deepEqual(await driver.store.readJournal(partition, 0, 10), []);
      await driver.store.trimJournal(lease, 1);
      await driver.reopen();
      assert.deepEqual(await driver.bodies(lease, 2), ['c', 'd']);
      assert.deepEqual(await driver.append(partition, to, 'e').then(() => driver.store.backlog(partition)), {
        cursor: 2,
        tail: 5,
        oldestAt: at(await driver.entries(lease, 2), 0).at,
      });
      await driver.mustCommit(lease, 2, 5, { journal: 'row 3' });
      assert.deepEqual(
        (await driver.store.readJournal(partition, 0, 10)).map((row) => row.entries.map((entry) => entry.body)),
        [['c', 'd', 'e']],
      );
    });

    promise('a trimmed partition goes on counting where it was', async (driver) => {
      const partition = await driver.partition();
      const to = driver.address();
      await driver.append(partition, to, 'a', 'b', 'c');
      const lease = await driver.lease(partition);
      await driver.mustCommit(lease, 0, 3, { journal: 'row' });
      await driver.store.trimJournal(lease, 3);
      await driver.reopen();
      await driver.append(partition, to, 'd');
      assert.deepEqual(
        (await driver.entries(lease, 3)).map((entry) => entry.seq),
        [4],
      );
    });

    promise('the first placement of an actor decides where it lives', async (driver) => {
      const [home, one, two] = await driver.partitions(3);
      assert.ok(home && one && two);
      const address = driver.address();
      const other = await driver.another();
      assert.equal(await driver.store.locate(home, address), null);
      const placed = await Promise.all([
        driver.store.place(home, address, one),
        other.place(home, address, two),
        driver.store.place(home, address, two),
      ]);
      assert.equal(new Set(placed).size, 1);
      await driver.reopen();
      assert.equal(await driver.store.locate(home, address), placed[0]);
      assert.equal(await driver.store.locate(one, address), null);
      const first = placed[0] ?? assert.fail('it was placed');
      assert.equal(await driver.store.unplace(home, address, first === one ? two : one), false, 'another place');
      assert.equal(await driver.store.locate(home, address), first);
      assert.equal(await driver.store.unplace(home, address, first), true);
      assert.equal(await driver.store.unplace(home, address, first), false);
      assert.equal(await driver.store.locate(home, address), null);
      assert.equal(await driver.store.place(home, address, home), home);
    });

    promise('an entry that was made anew since it was looked at is not removed', async (driver) => {
      const [home, one, two] = await driver.partitions(3);
      assert.ok(home && one && two);
      const other = await driver.another();
      for (let round = 0; round < 20; round += 1) {
        const address = driver.address();
        await driver.store.place(home, address, one);
        // Each read starts at `one`; another actor begins at `two` as soon as the entry is removed.
        const removed: unknown[] = await Promise.all([
          driver.store.unplace(home, address, one),
          other.place(home, address, two),
          other.unplace(home, address, one),
          other.place(home, address, two),
          driver.store.unplace(home, address, one),
        ]);
        assert.equal(removed.filter((answer) => answer === true).length, 1, 'removed once');
        assert.equal(await driver.store.place(home, address, two), two);
        assert.equal(await driver.store.unplace(home, address, one), false);
        assert.equal(await driver.store.locate(home, address), two);
      }
    });

    promise('the pages of a directory list every entry of its home, also while others come and go', async (driver) => {
      const [home, one, elsewhere] = await driver.partitions(3);
      assert.ok(home && one && elsewhere);
      assert.deepEqual(await driver.store.placed(home, null), { entries: [], next: null });
      const addresses = Array.from({ length: 1_000 }, () => driver.address());
      await Promise.all(addresses.map((address) => driver.store.place(home, address, one)));
      await driver.store.place(elsewhere, driver.address(), one);
      await driver.reopen();
      const met = new Map<string, string>();
      const passing = driver.address();
      let page: string | null = null;
      let pages = 0;
      do {
        const { entries, next } = await driver.store.placed(home, page);
        assert.ok(entries.length <= 1_000);
        for (const { address, partition } of entries) met.set(address, partition);
        await (pages % 2 === 0 ? driver.store.place(home, passing, one) : driver.store.unplace(home, passing, one));
        page = next;
        pages += 1;
      } while (page !== null);
      assert.ok(pages > 1 && pages < 100, `${pages} pages`);
      met.delete(passing);
      assert.deepEqual([...met.keys()].toSorted(), addresses.toSorted());
      assert.deepEqual([...new Set(met.values())], [one]);
    });

    promise("the store's clock goes forward", async (driver) => {
      const before = await driver.store.now();
      await driver.elapse(3);
      const after = await driver.store.now();
      assert.ok(Number.isInteger(before) && after >= before + 3, `${before} then ${after}`);
    });
  });
}

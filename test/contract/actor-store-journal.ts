import assert from 'node:assert/strict';
import { at, eventually, type MakeStore, section } from './actor-store-rig.ts';

export function journalContract(make: MakeStore): void {
  section('events, journal, directory', make, (promise) => {
    promise('events are read gap-free from any position, in pages', async (rig) => {
      const partition = await rig.partition();
      const address = rig.address();
      const lease = await rig.lease(partition);
      await rig.mustCommit(lease, 0, 0, { events: [{ address, first: 1, data: ['1', '2', '3'] }] });
      await rig.mustCommit(lease, 0, 0, { events: [{ address, first: 4, data: ['4'] }] });
      await rig.mustCommit(lease, 0, 0, { events: [{ address, first: 5, data: ['5', '6'] }] });
      const read = async (after: number, limit: number) =>
        (await rig.store.readEvents(partition, address, after, limit)).map((event) => {
          assert.equal(event.data, `${event.seq}`);
          return event.seq;
        });
      assert.deepEqual(await read(0, 100), [1, 2, 3, 4, 5, 6]);
      assert.deepEqual(await read(2, 2), [3, 4]);
      assert.deepEqual(await read(6, 10), []);
      assert.deepEqual(await read(99, 10), []);
      assert.deepEqual(await rig.store.readEvents(partition, rig.address(), 0, 10), []);
    });

    promise('an actor that gets events wakes its readers, not those of others', async (rig) => {
      const partition = await rig.partition();
      const [address, other] = [rig.address(), rig.address()];
      const lease = await rig.lease(partition);
      let woken = 0;
      let wrong = 0;
      const stops = [rig.store.onEvents(address, () => woken++), rig.store.onEvents(other, () => wrong++)];
      let first = 1;
      await eventually('a reader is woken', async () => {
        await rig.mustCommit(lease, 0, 0, { events: [{ address, first, data: ['e'] }] });
        first += 1;
        return woken > 0;
      });
      for (const stop of stops) stop();
      assert.equal(wrong, 0);
    });

    promise('what wakes the readers of an actor has its new events, unless they are long', async (rig) => {
      const partition = await rig.partition();
      const address = rig.address();
      const lease = await rig.lease(partition);
      const told: { readonly seq: number; readonly data: string }[] = [];
      let woken = 0;
      const stop = rig.store.onEvents(address, (news) => {
        woken += 1;
        for (const [index, data] of (news?.data ?? []).entries()) told.push({ seq: (news?.first ?? 0) + index, data });
      });
      let first = 1;
      const append = async (...data: string[]): Promise<void> => {
        await rig.mustCommit(lease, 0, 0, { events: [{ address, first, data }] });
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
      const stored = await rig.store.readEvents(partition, address, 0, 1_000);
      for (const one of told) assert.deepEqual(one, stored[one.seq - 1]);
    });

    promise('the journal gives rows in order, each with the entries its commit handled', async (rig) => {
      const partition = await rig.partition();
      const to = rig.address();
      await rig.append(partition, to, 'a', 'b', 'c', 'd', 'e');
      const lease = await rig.lease(partition);
      const entries = await rig.entries(lease);
      await rig.mustCommit(lease, 0, 2, { journal: 'row 1' });
      await rig.mustCommit(lease, 2, 3);
      await rig.mustCommit(lease, 3, 4, { journal: 'row 2 🦀' });
      const rows = await rig.store.readJournal(partition, 0, 10);
      assert.deepEqual(rows, [
        { upTo: 2, row: 'row 1', entries: entries.slice(0, 2) },
        { upTo: 4, row: 'row 2 🦀', entries: entries.slice(3, 4) },
      ]);
      assert.deepEqual(await rig.store.readJournal(partition, 0, 1), rows.slice(0, 1));
      assert.deepEqual(await rig.store.readJournal(partition, 2, 10), rows.slice(1));
      await rig.reopen();
      assert.deepEqual(await rig.store.readJournal(partition, 0, 10), rows);
      assert.deepEqual(await rig.store.readJournal(partition, 4, 10), []);
    });

    promise('a trim forgets rows and entries up to its position, never past the cursor', async (rig) => {
      const partition = await rig.partition();
      const to = rig.address();
      await rig.append(partition, to, 'a', 'b', 'c', 'd');
      const lease = await rig.lease(partition);
      await rig.mustCommit(lease, 0, 1, { journal: 'row 1' });
      await rig.mustCommit(lease, 1, 2, { journal: 'row 2' });
      await rig.store.trimJournal(lease, 1);
      assert.deepEqual(
        (await rig.store.readJournal(partition, 0, 10)).map((row) => row.row),
        ['row 2'],
      );
      await rig.store.trimJournal(lease, 1_000);
      assert.deepEqual(await rig.store.readJournal(partition, 0, 10), []);
      await rig.store.trimJournal(lease, 1);
      await rig.reopen();
      assert.deepEqual(await rig.bodies(lease, 2), ['c', 'd']);
      assert.deepEqual(await rig.append(partition, to, 'e').then(() => rig.store.backlog(partition)), {
        cursor: 2,
        tail: 5,
        oldestAt: at(await rig.entries(lease, 2), 0).at,
      });
      await rig.mustCommit(lease, 2, 5, { journal: 'row 3' });
      assert.deepEqual(
        (await rig.store.readJournal(partition, 0, 10)).map((row) => row.entries.map((entry) => entry.body)),
        [['c', 'd', 'e']],
      );
    });

    promise('a trimmed partition goes on counting where it was', async (rig) => {
      const partition = await rig.partition();
      const to = rig.address();
      await rig.append(partition, to, 'a', 'b', 'c');
      const lease = await rig.lease(partition);
      await rig.mustCommit(lease, 0, 3, { journal: 'row' });
      await rig.store.trimJournal(lease, 3);
      await rig.reopen();
      await rig.append(partition, to, 'd');
      assert.deepEqual(
        (await rig.entries(lease, 3)).map((entry) => entry.seq),
        [4],
      );
    });

    promise('the first to place an actor decides where it lives', async (rig) => {
      const [home, one, two] = await rig.partitions(3);
      assert.ok(home && one && two);
      const address = rig.address();
      const other = await rig.another();
      assert.equal(await rig.store.locate(home, address), null);
      const placed = await Promise.all([
        rig.store.place(home, address, one),
        other.place(home, address, two),
        rig.store.place(home, address, two),
      ]);
      assert.equal(new Set(placed).size, 1);
      await rig.reopen();
      assert.equal(await rig.store.locate(home, address), placed[0]);
      assert.equal(await rig.store.locate(one, address), null);
      const first = placed[0] ?? assert.fail('it was placed');
      assert.equal(await rig.store.unplace(home, address, first === one ? two : one), false, 'another place');
      assert.equal(await rig.store.locate(home, address), first);
      assert.equal(await rig.store.unplace(home, address, first), true);
      assert.equal(await rig.store.unplace(home, address, first), false);
      assert.equal(await rig.store.locate(home, address), null);
      assert.equal(await rig.store.place(home, address, home), home);
    });

    promise('an entry that was made anew since it was looked at is not removed', async (rig) => {
      const [home, one, two] = await rig.partitions(3);
      assert.ok(home && one && two);
      const other = await rig.another();
      for (let round = 0; round < 20; round += 1) {
        const address = rig.address();
        await rig.store.place(home, address, one);
        // Each looked at `one`; another actor's life begins at `two` as soon as the entry is gone.
        const removed: unknown[] = await Promise.all([
          rig.store.unplace(home, address, one),
          other.place(home, address, two),
          other.unplace(home, address, one),
          other.place(home, address, two),
          rig.store.unplace(home, address, one),
        ]);
        assert.equal(removed.filter((answer) => answer === true).length, 1, 'removed once');
        assert.equal(await rig.store.place(home, address, two), two);
        assert.equal(await rig.store.unplace(home, address, one), false);
        assert.equal(await rig.store.locate(home, address), two);
      }
    });

    promise('the pages of a directory list every entry of its home, also while others come and go', async (rig) => {
      const [home, one, elsewhere] = await rig.partitions(3);
      assert.ok(home && one && elsewhere);
      assert.deepEqual(await rig.store.placed(home, null), { entries: [], next: null });
      const addresses = Array.from({ length: 1_000 }, () => rig.address());
      await Promise.all(addresses.map((address) => rig.store.place(home, address, one)));
      await rig.store.place(elsewhere, rig.address(), one);
      await rig.reopen();
      const met = new Map<string, string>();
      const passing = rig.address();
      let page: string | null = null;
      let pages = 0;
      do {
        const { entries, next } = await rig.store.placed(home, page);
        assert.ok(entries.length <= 1_000);
        for (const { address, partition } of entries) met.set(address, partition);
        await (pages % 2 === 0 ? rig.store.place(home, passing, one) : rig.store.unplace(home, passing, one));
        page = next;
        pages += 1;
      } while (page !== null);
      assert.ok(pages > 1 && pages < 100, `${pages} pages`);
      met.delete(passing);
      assert.deepEqual([...met.keys()].toSorted(), addresses.toSorted());
      assert.deepEqual([...new Set(met.values())], [one]);
    });

    promise("the store's clock goes forward", async (rig) => {
      const before = await rig.store.now();
      await rig.elapse(3);
      const after = await rig.store.now();
      assert.ok(Number.isInteger(before) && after >= before + 3, `${before} then ${after}`);
    });
  });
}

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { at, eventually, type MakeStore, section } from './store-under-test.ts';

const kinds = (outcomes: readonly { readonly kind: string }[]) => outcomes.map((outcome) => outcome.kind);

export function mailboxContract(make: MakeStore): void {
  section('mailboxes', make, (promise) => {
    promise('entries are numbered 1, 2, 3 without gaps, in the order of their append', async (driver) => {
      const partition = await driver.partition();
      const [one, two] = [driver.address(), driver.address()];
      const outcomes = await driver.store.append(partition, [driver.delivery(one, 'a'), driver.delivery(two, 'b')], 10);
      assert.deepEqual(outcomes, [
        { kind: 'accepted', seq: 1 },
        { kind: 'accepted', seq: 2 },
      ]);
      await driver.append(partition, one, 'c');
      const lease = await driver.lease(partition);
      const entries = await driver.entries(lease);
      assert.deepEqual(
        entries.map((entry) => [entry.seq, entry.body]),
        [
          [1, 'a'],
          [2, 'b'],
          [3, 'c'],
        ],
      );
      const now = await driver.store.now();
      for (const entry of entries) assert.ok(Math.abs(entry.at - now) < 60_000, `at ${entry.at} is store time`);
    });

    promise('concurrent appends take each number once', async (driver) => {
      const partition = await driver.partition();
      const calls = Array.from({ length: 200 }, () =>
        driver.store.append(partition, [driver.delivery(driver.address())], 10),
      );
      const seqs = (await Promise.all(calls)).map((outcomes) => {
        const outcome = at(outcomes, 0);
        return outcome.kind === 'accepted' ? outcome.seq : -1;
      });
      assert.deepEqual(
        seqs.toSorted((a, b) => a - b),
        Array.from({ length: 200 }, (_, n) => n + 1),
      );
    });

    promise('an appended entry is there after a restart', async (driver) => {
      const partition = await driver.partition();
      await driver.append(partition, driver.address(), 'kept');
      await driver.reopen();
      assert.deepEqual(await driver.bodies(await driver.lease(partition)), ['kept']);
      assert.deepEqual(await driver.append(partition, driver.address(), 'next').then((ids) => ids.length), 1);
      assert.equal((await driver.store.backlog(partition)).tail, 2);
    });

    promise('a message id seen before is not appended again, also after a restart', async (driver) => {
      const partition = await driver.partition();
      const delivery = driver.delivery(driver.address(), 'once');
      assert.deepEqual(kinds(await driver.store.append(partition, [delivery], 10)), ['accepted']);
      assert.deepEqual(await driver.store.append(partition, [delivery], 10), [{ kind: 'duplicate', reply: null }]);
      await driver.reopen();
      assert.deepEqual(await driver.store.append(partition, [delivery], 10), [{ kind: 'duplicate', reply: null }]);
      assert.deepEqual(await driver.bodies(await driver.lease(partition)), ['once']);
    });

    promise('an id twice in one call is appended once', async (driver) => {
      const partition = await driver.partition();
      const delivery = driver.delivery(driver.address());
      assert.deepEqual(kinds(await driver.store.append(partition, [delivery, delivery], 10)), [
        'accepted',
        'duplicate',
      ]);
      assert.equal((await driver.store.backlog(partition)).tail, 1);
    });

    promise('a duplicate of an answered message gets the recorded reply, also after a restart', async (driver) => {
      const partition = await driver.partition();
      const delivery = driver.delivery(driver.address());
      await driver.store.append(partition, [delivery], 10);
      assert.equal(await driver.store.recallReply(partition, delivery.id), null);
      const lease = await driver.lease(partition);
      await driver.mustCommit(lease, 0, 1, {
        replies: [{ session: 'asker', messageId: delivery.id, body: '{"ok":1}' }],
        handled: [{ address: delivery.to, count: 1 }],
      });
      assert.equal(await driver.store.recallReply(partition, delivery.id), '{"ok":1}');
      await driver.reopen();
      assert.equal(await driver.store.recallReply(partition, delivery.id), '{"ok":1}');
      assert.deepEqual(await driver.store.append(partition, [delivery], 10), [
        { kind: 'duplicate', reply: '{"ok":1}' },
      ]);
      assert.equal(await driver.store.recallReply(partition, randomUUID()), null);
    });

    promise('an id and its reply are remembered over 4,000 later messages and a trim', async (driver) => {
      const partition = await driver.partition();
      const delivery = driver.delivery(driver.address());
      await driver.store.append(partition, [delivery], 10);
      const lease = await driver.lease(partition);
      await driver.mustCommit(lease, 0, 1, {
        journal: 'row',
        replies: [{ session: 's', messageId: delivery.id, body: 'answer' }],
        handled: [{ address: delivery.to, count: 1 }],
      });
      await driver.store.trimJournal(lease, 1);
      for (let call = 0; call < 8; call++) {
        const batch = Array.from({ length: 500 }, () => driver.delivery(driver.address(), 'later'));
        await driver.store.append(partition, batch, 10);
      }
      assert.deepEqual(await driver.store.append(partition, [delivery], 10), [{ kind: 'duplicate', reply: 'answer' }]);
    });

    promise('the id of a waiting message is not forgotten, however many messages follow it', async (driver) => {
      const partition = await driver.partition();
      const delivery = driver.delivery(driver.address(), 'waits');
      await driver.store.append(partition, [delivery], 10);
      for (let call = 0; call < 20; call++) {
        const batch = Array.from({ length: 500 }, () => driver.delivery(driver.address(), 'later'));
        await driver.store.append(partition, batch, 10);
      }
      assert.deepEqual(await driver.store.append(partition, [delivery], 10), [{ kind: 'duplicate', reply: null }]);
      const lease = await driver.lease(partition);
      await driver.mustCommit(lease, 0, 1, {
        replies: [{ session: 's', messageId: delivery.id, body: 'answer' }],
        handled: [{ address: delivery.to, count: 1 }],
      });
      assert.deepEqual(await driver.store.append(partition, [delivery], 10), [{ kind: 'duplicate', reply: 'answer' }]);
    });

    promise('beyond the bound an actor refuses client messages, others of the partition do not', async (driver) => {
      const partition = await driver.partition();
      const [busy, free] = [driver.address(), driver.address()];
      const first = [driver.delivery(busy, '1'), driver.delivery(busy, '2')];
      await driver.store.append(partition, first, 2);
      const refused = driver.delivery(busy, '3');
      assert.deepEqual(await driver.store.append(partition, [refused, driver.delivery(free, '4')], 2), [
        { kind: 'full', depth: 2 },
        { kind: 'accepted', seq: 3 },
      ]);
      assert.equal(await driver.store.depth(partition, busy), 2);
      assert.equal(at(await driver.store.append(partition, [at(first, 0)], 2), 0).kind, 'duplicate');
      await driver.reopen();
      assert.equal(await driver.store.depth(partition, busy), 2);
      const lease = await driver.lease(partition);
      await driver.mustCommit(lease, 0, 1, { handled: [{ address: busy, count: 1 }] });
      assert.equal(await driver.store.depth(partition, busy), 1);
      assert.deepEqual(await driver.store.append(partition, [refused], 2), [{ kind: 'accepted', seq: 4 }]);
      assert.deepEqual(await driver.bodies(lease), ['1', '2', '4', '3']);
    });

    promise('the bound also holds inside one call', async (driver) => {
      const partition = await driver.partition();
      const to = driver.address();
      const batch = Array.from({ length: 5 }, () => driver.delivery(to));
      assert.deepEqual(kinds(await driver.store.append(partition, batch, 3)), [
        'accepted',
        'accepted',
        'accepted',
        'full',
        'full',
      ]);
    });

    promise('the backlog names cursor, tail and the age of the oldest waiting entry', async (driver) => {
      const partition = await driver.partition();
      assert.deepEqual(await driver.store.backlog(partition), { cursor: 0, tail: 0, oldestAt: null });
      await driver.append(partition, driver.address(), 'a', 'b');
      const lease = await driver.lease(partition);
      const entries = await driver.entries(lease);
      assert.deepEqual(await driver.store.backlog(partition), { cursor: 0, tail: 2, oldestAt: at(entries, 0).at });
      await driver.mustCommit(lease, 0, 1);
      assert.deepEqual(await driver.store.backlog(partition), { cursor: 1, tail: 2, oldestAt: at(entries, 1).at });
      await driver.mustCommit(lease, 1, 2);
      assert.deepEqual(await driver.store.backlog(partition), { cursor: 2, tail: 2, oldestAt: null });
    });

    promise('a poll answers each lease in the order asked, behind its position, up to the limit', async (driver) => {
      const [one, two] = await driver.partitions(2);
      assert.ok(one && two);
      await driver.append(one, driver.address(), 'a', 'b', 'c');
      await driver.append(two, driver.address(), 'x');
      const [first, second] = [await driver.lease(one), await driver.lease(two)];
      await driver.mustCommit(first, 0, 1);
      await driver.mustCommit(second, 0, 1);
      const polled = await driver.store.poll(
        [
          { lease: second, after: 0 },
          { lease: first, after: 1 },
          { lease: second, after: 1 },
        ],
        1,
      );
      assert.deepEqual(
        polled.map((entries) => entries?.map((entry) => entry.body)),
        [['x'], ['b'], []],
      );
      assert.deepEqual(await driver.store.poll([], 10), []);
    });

    promise(
      'a poll of a holder that is ahead of the store, or without a lease, answers that instead of nothing',
      async (driver) => {
        const partition = await driver.partition();
        await driver.append(partition, driver.address(), 'a', 'b');
        const lease = await driver.lease(partition);
        await driver.mustCommit(lease, 0, 1);
        assert.deepEqual(await driver.store.poll([{ lease, after: 2 }], 10), [null]);
        assert.equal((await driver.entries(lease, 1)).length, 1);
        await driver.lease(partition);
        assert.deepEqual(await driver.store.poll([{ lease, after: 1 }], 10), [null]);
      },
    );

    promise('a body of 1 MB and any Unicode come back as they were', async (driver) => {
      const partition = await driver.partition();
      const odd = 'é 漢字 🦀 \u0000 \u2028 " \\ \r\n {"a":[1]}';
      const large = '🙂x'.repeat(200_000);
      await driver.append(partition, driver.address(), odd, large, '');
      await driver.reopen();
      assert.deepEqual(await driver.bodies(await driver.lease(partition)), [odd, large, '']);
    });

    promise('a call of 1,000 entries is stored in order', async (driver) => {
      const partition = await driver.partition();
      const bodies = Array.from({ length: 1_000 }, (_, n) => `entry ${n}`);
      await driver.append(partition, driver.address(), ...bodies);
      const lease = await driver.lease(partition);
      assert.deepEqual(await driver.bodies(lease), bodies);
      assert.equal((await driver.entries(lease, 0, 10)).length, 10);
    });

    promise('an append of no entries has no outcomes', async (driver) => {
      assert.deepEqual(await driver.store.append(await driver.partition(), [], 10), []);
    });

    promise('an append notifies the node that holds the partition, and no other', async (driver) => {
      const partition = await driver.partition();
      await driver.lease(partition, 'node-woken');
      const woken: string[] = [];
      const wrong: string[] = [];
      const stop = driver.store.onWake('node-woken', (which) => woken.push(which));
      const stopOther = driver.store.onWake('node-other', (which) => wrong.push(which));
      // A wake-up may be lost (a subscription may take a moment), so appends go on until one arrives.
      await eventually('a wake-up arrives', async () => {
        await driver.append(partition, driver.address(), 'message');
        return woken.includes(partition);
      });
      stop();
      stopOther();
      assert.deepEqual(wrong, []);
    });

    promise('a reply is called back to its session with id and body', async (driver) => {
      const partition = await driver.partition();
      const lease = await driver.lease(partition);
      const got = new Map<string, string>();
      const other: string[] = [];
      const session = `session-${randomUUID()}`;
      const stop = driver.store.onReply(session, (id, body) => got.set(id, body));
      const stopOther = driver.store.onReply(`session-${randomUUID()}`, (id) => other.push(id));
      let cursor = 0;
      await eventually('a reply is called back', async () => {
        const [id] = await driver.append(partition, driver.address(), 'ask');
        assert.ok(id);
        await driver.mustCommit(lease, cursor, cursor + 1, { replies: [{ session, messageId: id, body: `re ${id}` }] });
        cursor += 1;
        return [...got].some(([messageId, body]) => body === `re ${messageId}`);
      });
      stop();
      stopOther();
      assert.deepEqual(other, []);
    });
  });
}

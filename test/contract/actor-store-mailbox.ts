import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { at, eventually, type MakeStore, section } from './actor-store-rig.ts';

const kinds = (outcomes: readonly { readonly kind: string }[]) => outcomes.map((outcome) => outcome.kind);

export function mailboxContract(make: MakeStore): void {
  section('mailboxes', make, (promise) => {
    promise('entries are numbered 1, 2, 3 without gaps, in the order of their append', async (rig) => {
      const partition = await rig.partition();
      const [one, two] = [rig.address(), rig.address()];
      const outcomes = await rig.store.append(partition, [rig.delivery(one, 'a'), rig.delivery(two, 'b')], 10);
      assert.deepEqual(outcomes, [
        { kind: 'accepted', seq: 1 },
        { kind: 'accepted', seq: 2 },
      ]);
      await rig.append(partition, one, 'c');
      const lease = await rig.lease(partition);
      const entries = await rig.entries(lease);
      assert.deepEqual(
        entries.map((entry) => [entry.seq, entry.body]),
        [
          [1, 'a'],
          [2, 'b'],
          [3, 'c'],
        ],
      );
      const now = await rig.store.now();
      for (const entry of entries) assert.ok(Math.abs(entry.at - now) < 60_000, `at ${entry.at} is store time`);
    });

    promise('concurrent appends take each number once', async (rig) => {
      const partition = await rig.partition();
      const calls = Array.from({ length: 200 }, () => rig.store.append(partition, [rig.delivery(rig.address())], 10));
      const seqs = (await Promise.all(calls)).map((outcomes) => {
        const outcome = at(outcomes, 0);
        return outcome.kind === 'accepted' ? outcome.seq : -1;
      });
      assert.deepEqual(
        seqs.toSorted((a, b) => a - b),
        Array.from({ length: 200 }, (_, n) => n + 1),
      );
    });

    promise('an appended entry is there after a restart', async (rig) => {
      const partition = await rig.partition();
      await rig.append(partition, rig.address(), 'kept');
      await rig.reopen();
      assert.deepEqual(await rig.bodies(await rig.lease(partition)), ['kept']);
      assert.deepEqual(await rig.append(partition, rig.address(), 'next').then((ids) => ids.length), 1);
      assert.equal((await rig.store.backlog(partition)).tail, 2);
    });

    promise('a message id seen before is not appended again, also after a restart', async (rig) => {
      const partition = await rig.partition();
      const delivery = rig.delivery(rig.address(), 'once');
      assert.deepEqual(kinds(await rig.store.append(partition, [delivery], 10)), ['accepted']);
      assert.deepEqual(await rig.store.append(partition, [delivery], 10), [{ kind: 'duplicate', reply: null }]);
      await rig.reopen();
      assert.deepEqual(await rig.store.append(partition, [delivery], 10), [{ kind: 'duplicate', reply: null }]);
      assert.deepEqual(await rig.bodies(await rig.lease(partition)), ['once']);
    });

    promise('an id twice in one call is appended once', async (rig) => {
      const partition = await rig.partition();
      const delivery = rig.delivery(rig.address());
      assert.deepEqual(kinds(await rig.store.append(partition, [delivery, delivery], 10)), ['accepted', 'duplicate']);
      assert.equal((await rig.store.backlog(partition)).tail, 1);
    });

    promise('a duplicate of an answered message gets the recorded reply, also after a restart', async (rig) => {
      const partition = await rig.partition();
      const delivery = rig.delivery(rig.address());
      await rig.store.append(partition, [delivery], 10);
      assert.equal(await rig.store.recallReply(partition, delivery.id), null);
      const lease = await rig.lease(partition);
      await rig.mustCommit(lease, 0, 1, {
        replies: [{ session: 'asker', messageId: delivery.id, body: '{"ok":1}' }],
        handled: [{ address: delivery.to, count: 1 }],
      });
      assert.equal(await rig.store.recallReply(partition, delivery.id), '{"ok":1}');
      await rig.reopen();
      assert.equal(await rig.store.recallReply(partition, delivery.id), '{"ok":1}');
      assert.deepEqual(await rig.store.append(partition, [delivery], 10), [{ kind: 'duplicate', reply: '{"ok":1}' }]);
      assert.equal(await rig.store.recallReply(partition, randomUUID()), null);
    });

    promise('an id and its reply are remembered over 4,000 later messages and a trim', async (rig) => {
      const partition = await rig.partition();
      const delivery = rig.delivery(rig.address());
      await rig.store.append(partition, [delivery], 10);
      const lease = await rig.lease(partition);
      await rig.mustCommit(lease, 0, 1, {
        journal: 'row',
        replies: [{ session: 's', messageId: delivery.id, body: 'answer' }],
        handled: [{ address: delivery.to, count: 1 }],
      });
      await rig.store.trimJournal(lease, 1);
      for (let call = 0; call < 8; call++) {
        const batch = Array.from({ length: 500 }, () => rig.delivery(rig.address(), 'later'));
        await rig.store.append(partition, batch, 10);
      }
      assert.deepEqual(await rig.store.append(partition, [delivery], 10), [{ kind: 'duplicate', reply: 'answer' }]);
    });

    promise('the id of a message that waits is not forgotten, however many come behind it', async (rig) => {
      const partition = await rig.partition();
      const delivery = rig.delivery(rig.address(), 'waits');
      await rig.store.append(partition, [delivery], 10);
      for (let call = 0; call < 20; call++) {
        const batch = Array.from({ length: 500 }, () => rig.delivery(rig.address(), 'later'));
        await rig.store.append(partition, batch, 10);
      }
      assert.deepEqual(await rig.store.append(partition, [delivery], 10), [{ kind: 'duplicate', reply: null }]);
      const lease = await rig.lease(partition);
      await rig.mustCommit(lease, 0, 1, {
        replies: [{ session: 's', messageId: delivery.id, body: 'answer' }],
        handled: [{ address: delivery.to, count: 1 }],
      });
      assert.deepEqual(await rig.store.append(partition, [delivery], 10), [{ kind: 'duplicate', reply: 'answer' }]);
    });

    promise('beyond the bound an actor refuses client messages, others of the partition do not', async (rig) => {
      const partition = await rig.partition();
      const [busy, free] = [rig.address(), rig.address()];
      const first = [rig.delivery(busy, '1'), rig.delivery(busy, '2')];
      await rig.store.append(partition, first, 2);
      const refused = rig.delivery(busy, '3');
      assert.deepEqual(await rig.store.append(partition, [refused, rig.delivery(free, '4')], 2), [
        { kind: 'full', depth: 2 },
        { kind: 'accepted', seq: 3 },
      ]);
      assert.equal(await rig.store.depth(partition, busy), 2);
      assert.equal(at(await rig.store.append(partition, [at(first, 0)], 2), 0).kind, 'duplicate');
      await rig.reopen();
      assert.equal(await rig.store.depth(partition, busy), 2);
      const lease = await rig.lease(partition);
      await rig.mustCommit(lease, 0, 1, { handled: [{ address: busy, count: 1 }] });
      assert.equal(await rig.store.depth(partition, busy), 1);
      assert.deepEqual(await rig.store.append(partition, [refused], 2), [{ kind: 'accepted', seq: 4 }]);
      assert.deepEqual(await rig.bodies(lease), ['1', '2', '4', '3']);
    });

    promise('the bound also holds inside one call', async (rig) => {
      const partition = await rig.partition();
      const to = rig.address();
      const batch = Array.from({ length: 5 }, () => rig.delivery(to));
      assert.deepEqual(kinds(await rig.store.append(partition, batch, 3)), [
        'accepted',
        'accepted',
        'accepted',
        'full',
        'full',
      ]);
    });

    promise('the backlog names cursor, tail and the age of the oldest waiting entry', async (rig) => {
      const partition = await rig.partition();
      assert.deepEqual(await rig.store.backlog(partition), { cursor: 0, tail: 0, oldestAt: null });
      await rig.append(partition, rig.address(), 'a', 'b');
      const lease = await rig.lease(partition);
      const entries = await rig.entries(lease);
      assert.deepEqual(await rig.store.backlog(partition), { cursor: 0, tail: 2, oldestAt: at(entries, 0).at });
      await rig.mustCommit(lease, 0, 1);
      assert.deepEqual(await rig.store.backlog(partition), { cursor: 1, tail: 2, oldestAt: at(entries, 1).at });
      await rig.mustCommit(lease, 1, 2);
      assert.deepEqual(await rig.store.backlog(partition), { cursor: 2, tail: 2, oldestAt: null });
    });

    promise('a poll answers each lease in the order asked, behind its position, up to the limit', async (rig) => {
      const [one, two] = await rig.partitions(2);
      assert.ok(one && two);
      await rig.append(one, rig.address(), 'a', 'b', 'c');
      await rig.append(two, rig.address(), 'x');
      const [first, second] = [await rig.lease(one), await rig.lease(two)];
      await rig.mustCommit(first, 0, 1);
      await rig.mustCommit(second, 0, 1);
      const polled = await rig.store.poll(
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
      assert.deepEqual(await rig.store.poll([], 10), []);
    });

    promise('a holder that is ahead of the store, or holds no lease, is told so instead of nothing', async (rig) => {
      const partition = await rig.partition();
      await rig.append(partition, rig.address(), 'a', 'b');
      const lease = await rig.lease(partition);
      await rig.mustCommit(lease, 0, 1);
      assert.deepEqual(await rig.store.poll([{ lease, after: 2 }], 10), [null]);
      assert.equal((await rig.entries(lease, 1)).length, 1);
      await rig.lease(partition);
      assert.deepEqual(await rig.store.poll([{ lease, after: 1 }], 10), [null]);
    });

    promise('a body of 1 MB and any Unicode come back as they were', async (rig) => {
      const partition = await rig.partition();
      const odd = 'é 漢字 🦀 \u0000 \u2028 " \\ \r\n {"a":[1]}';
      const large = '🙂x'.repeat(200_000);
      await rig.append(partition, rig.address(), odd, large, '');
      await rig.reopen();
      assert.deepEqual(await rig.bodies(await rig.lease(partition)), [odd, large, '']);
    });

    promise('a call of 1,000 entries is stored in order', async (rig) => {
      const partition = await rig.partition();
      const bodies = Array.from({ length: 1_000 }, (_, n) => `entry ${n}`);
      await rig.append(partition, rig.address(), ...bodies);
      const lease = await rig.lease(partition);
      assert.deepEqual(await rig.bodies(lease), bodies);
      assert.equal((await rig.entries(lease, 0, 10)).length, 10);
    });

    promise('no entries, no outcomes', async (rig) => {
      assert.deepEqual(await rig.store.append(await rig.partition(), [], 10), []);
    });

    promise('an append rings the bell of the node that holds the partition, and no other', async (rig) => {
      const partition = await rig.partition();
      await rig.lease(partition, 'node-bell');
      const rung: string[] = [];
      const wrong: string[] = [];
      const stop = rig.store.onWake('node-bell', (which) => rung.push(which));
      const stopOther = rig.store.onWake('node-other', (which) => wrong.push(which));
      // A bell may be lost (a subscription may take a moment), so appends go on until one rings.
      await eventually('the bell rings', async () => {
        await rig.append(partition, rig.address(), 'ding');
        return rung.includes(partition);
      });
      stop();
      stopOther();
      assert.deepEqual(wrong, []);
    });

    promise('an answer is called back to its session with id and body', async (rig) => {
      const partition = await rig.partition();
      const lease = await rig.lease(partition);
      const got = new Map<string, string>();
      const other: string[] = [];
      const session = `session-${randomUUID()}`;
      const stop = rig.store.onReply(session, (id, body) => got.set(id, body));
      const stopOther = rig.store.onReply(`session-${randomUUID()}`, (id) => other.push(id));
      let cursor = 0;
      await eventually('a reply is called back', async () => {
        const [id] = await rig.append(partition, rig.address(), 'ask');
        assert.ok(id);
        await rig.mustCommit(lease, cursor, cursor + 1, { replies: [{ session, messageId: id, body: `re ${id}` }] });
        cursor += 1;
        return [...got].some(([messageId, body]) => body === `re ${messageId}`);
      });
      stop();
      stopOther();
      assert.deepEqual(other, []);
    });
  });
}

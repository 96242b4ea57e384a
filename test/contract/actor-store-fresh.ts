import assert from 'node:assert/strict';
import type { Address, Partition } from '../../runtime/address.ts';
import type { Delivery } from '../../runtime/message.ts';
import { at, eventually, type MakeStore, type StoreDriver, section } from './store-under-test.ts';

const fresh = (driver: StoreDriver, to: Address, body: string): Delivery => ({
  ...driver.delivery(to, body),
  fresh: true,
});

/** Appends in one turn of the event loop, one call each; returns the numbers. */
async function appendAtOnce(
  driver: StoreDriver,
  partition: Partition,
  deliveries: readonly Delivery[],
  bound = 10_000,
) {
  const outcomes = await Promise.all(deliveries.map((delivery) => driver.store.append(partition, [delivery], bound)));
  return outcomes.map((one) => at(one, 0));
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, n) => `body ${n} é🦀`);

/** Messages whose ids were made for one call: a store may keep several of them together (runtime/redis/pack-writer.ts). */
export function freshContract(make: MakeStore): void {
  section('fresh messages', make, (promise) => {
    promise('are appended in the order of the calls, with gap-free numbers', async (driver) => {
      const partition = await driver.partition();
      const to = driver.address();
      const bodies = numbered(700);
      const outcomes = await appendAtOnce(
        driver,
        partition,
        bodies.map((body) => fresh(driver, to, body)),
      );
      assert.deepEqual(
        outcomes,
        bodies.map((_, n) => ({ kind: 'accepted', seq: n + 1 })),
      );
      const lease = await driver.lease(partition);
      assert.deepEqual(await driver.bodies(lease), bodies);
      assert.equal(await driver.store.depth(partition, to), 700);
    });

    promise('a commit may end between any two of them; only the ones behind it are read', async (driver) => {
      const partition = await driver.partition();
      const to = driver.address();
      const bodies = numbered(9);
      await appendAtOnce(
        driver,
        partition,
        bodies.map((body) => fresh(driver, to, body)),
      );
      await driver.append(partition, to, 'named');
      await appendAtOnce(driver, partition, [fresh(driver, to, 'last')]);
      const all = [...bodies, 'named', 'last'];
      const lease = await driver.lease(partition);
      for (let after = 0; after < all.length; after += 3) {
        const upTo = Math.min(after + 3, all.length);
        assert.deepEqual(await driver.bodies(lease, after), all.slice(after));
        const change = { journal: `row ${upTo}`, handled: [{ address: to, count: upTo - after }] };
        const { next } = await driver.mustCommit(lease, after, upTo, change, 100);
        assert.deepEqual(
          next.map(({ seq, body }) => [seq, body]),
          all.slice(upTo).map((body, n) => [upTo + n + 1, body]),
        );
        assert.equal(await driver.store.depth(partition, to), all.length - upTo);
        const rows = await driver.store.readJournal(partition, after, 10);
        assert.deepEqual(
          at(rows, 0).entries.map(({ body }) => body),
          all.slice(after, upTo),
        );
        // Trimming must not remove messages that share an entry with it.
        await driver.store.trimJournal(lease, upTo);
        assert.equal((await driver.store.backlog(partition)).oldestAt === null, upTo === all.length);
      }
    });

    promise('a reader who stops inside them gets the rest after a restart', async (driver) => {
      const partition = await driver.partition();
      const bodies = numbered(5);
      await appendAtOnce(
        driver,
        partition,
        bodies.map((body) => fresh(driver, driver.address(), body)),
      );
      const lease = await driver.lease(partition);
      await driver.mustCommit(lease, 0, 2, { journal: 'row' });
      await driver.store.trimJournal(lease, 2);
      await driver.reopen();
      const again = await driver.store.acquire(partition, 'node-a', 'another', 60_000);
      assert.ok(again.kind === 'granted');
      assert.equal(again.cursor, 2);
      assert.deepEqual(await driver.bodies(again.lease, 2), bodies.slice(2));
    });

    promise('an actor beyond its bound refuses them, the others of the same turn are accepted', async (driver) => {
      const partition = await driver.partition();
      const [busy, free] = [driver.address(), driver.address()];
      const outcomes = await appendAtOnce(
        driver,
        partition,
        [...numbered(5).map((body) => fresh(driver, busy, body)), fresh(driver, free, 'free')],
        3,
      );
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ['accepted', 'accepted', 'accepted', 'full', 'full', 'accepted'],
      );
      assert.equal(await driver.store.depth(partition, busy), 3);
      const lease = await driver.lease(partition);
      const handled = [{ address: busy, count: 1 }];
      const first = at(await driver.entries(lease), 0);
      assert.equal(first.body, numbered(1)[0]);
      await driver.mustCommit(lease, 0, 1, { handled });
      assert.deepEqual(
        (
          await appendAtOnce(
            driver,
            partition,
            numbered(2).map((body) => fresh(driver, busy, body)),
            3,
          )
        ).map(({ kind }) => kind),
        ['accepted', 'full'],
      );
    });

    promise('messages that an actor postpones count against its bound until they are handled', async (driver) => {
      const partition = await driver.partition();
      const to = driver.address();
      await appendAtOnce(
        driver,
        partition,
        numbered(2).map((body) => fresh(driver, to, body)),
      );
      const lease = await driver.lease(partition);
      await driver.mustCommit(lease, 0, 2, { held: [{ address: to, count: 2 }] });
      const tooMany = numbered(2).map((body) => fresh(driver, to, body));
      assert.deepEqual(
        (await appendAtOnce(driver, partition, tooMany, 3)).map(({ kind }) => kind),
        ['accepted', 'full'],
      );
      const [taken] = [{ address: to, count: 3 }];
      await driver.mustCommit(lease, 2, 3, { handled: [taken], held: [{ address: to, count: -2 }] });
      assert.equal(await driver.store.depth(partition, to), 0);
      assert.deepEqual(
        (
          await appendAtOnce(
            driver,
            partition,
            numbered(3).map((body) => fresh(driver, to, body)),
            3,
          )
        ).map(({ kind }) => kind),
        ['accepted', 'accepted', 'accepted'],
      );
    });

    promise('the reply to one is recalled by its number', async (driver) => {
      const partition = await driver.partition();
      const to = driver.address();
      const deliveries = numbered(6).map((body) => fresh(driver, to, body));
      const outcomes = await appendAtOnce(driver, partition, deliveries);
      const lease = await driver.lease(partition);
      const answers = deliveries.map(({ id }, n) => ({
        ...{ session: `s${n % 2}`, messageId: id, body: `answer ${n} é🦀` },
        fresh: true,
      }));
      const heard: string[] = [];
      const stop = driver.store.onReply('s1', (id, body) => heard.push(`${id} ${body}`));
      // A separate message arrives at the subscription only when that is active.
      await driver.append(partition, to, 'named');
      await driver.mustCommit(lease, 0, 3, { replies: answers.slice(0, 3) });
      await driver.mustCommit(lease, 3, 6, { replies: answers.slice(3) });
      for (const [n, outcome] of outcomes.entries()) {
        const seq = outcome.kind === 'accepted' ? outcome.seq : 0;
        const { messageId, body } = at(answers, n);
        assert.equal(await driver.store.recallReply(partition, messageId, { seq }), body);
        assert.equal(await driver.store.recallReply(partition, messageId), body);
      }
      await eventually('three replies are published', () => heard.length >= 3);
      stop();
      assert.deepEqual(
        heard,
        [1, 3, 5].map((n) => `${at(answers, n).messageId} ${at(answers, n).body}`),
      );
    });
  });
}

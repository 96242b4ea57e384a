import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ActorStore } from '../../runtime/actor-store.ts';
import { MEMBER_TEXT_BYTES, type Member } from '../../runtime/members.ts';
import { FaultyStore } from '../support/faulty-store.ts';
import { memberChangeTests } from './actor-store-member-changes.ts';
import { eventually, type MakeStore, type Promises, type StoreDriver, section } from './store-under-test.ts';

const TTL_MS = 60;
const LONG_MS = 600_000;

const life = (node = `node-${randomUUID()}`, card = '{}'): Member => ({ node, incarnation: randomUUID(), card });

/** The members among the given nodes: other tests share the store. */
async function present(store: ActorStore, ...lives: readonly Member[]): Promise<Member[]> {
  const nodes = new Set(lives.map((each) => each.node));
  const found = (await store.members()).filter((each) => nodes.has(each.node));
  for (const { node, remainingMs } of found) assert.ok(remainingMs > 0, `${node} has ${remainingMs} ms left`);
  return found.map(({ remainingMs: _, ...member }) => member);
}

/** Signals that each node received; a signal may be lost, so it is repeated until one is received. */
async function heard(
  driver: StoreDriver,
  nodes: readonly string[],
  send: (store: ActorStore, word: string) => Promise<void>,
) {
  const words = nodes.map(() => new Set<string>());
  const own = `word ${randomUUID()}`;
  const stops = nodes.map((node, n) =>
    driver.store.onSignal(node, (word) => {
      if (word === own) words[n]?.add(word);
    }),
  );
  const other = await driver.another();
  return {
    until: (holds: (hears: boolean[]) => boolean) =>
      eventually('the word is heard', async () => {
        await send(other, own);
        return holds(words.map((each) => each.size > 0));
      }),
    hears: () => words.map((each) => each.size > 0),
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}

function leaseTests(promise: Promises): void {
  promise('a node is a member from its announcement on, with its member record, ordered by node id', async (driver) => {
    const mark = randomUUID();
    const lives = ['b', 'a', 'c'].map((name) => life(`${mark}-${name}`, `card of ${name}\nin two lines`));
    const other = await driver.another();
    for (const each of lives) assert.equal(await driver.store.announce(each, LONG_MS, true), true);
    const sorted = lives.toSorted((one, two) => (one.node < two.node ? -1 : 1));
    assert.deepEqual(await present(other, ...lives), sorted);
  });

  promise('an extension replaces the member record', async (driver) => {
    const first = life();
    await driver.store.announce(first, LONG_MS, true);
    const changed = { ...first, card: 'draining' };
    assert.equal(await driver.store.announce(changed, LONG_MS, false), true);
    assert.deepEqual(await present(driver.store, first), [changed]);
  });

  promise('a later incarnation of a node wins at once, and its earlier one cannot extend or retire', async (driver) => {
    const earlier = life();
    const later = life(earlier.node);
    const other = await driver.another();
    await driver.store.announce(earlier, LONG_MS, true);
    assert.equal(await other.announce(later, LONG_MS, true), true);
    assert.equal(await driver.store.announce(earlier, LONG_MS, false), false);
    assert.equal(await driver.store.retire(earlier.node, earlier.incarnation), false);
    assert.deepEqual(await present(driver.store, earlier), [later]);
    assert.equal(await other.announce(later, LONG_MS, false), true);
  });

  promise('a peer retires an incarnation, which cannot extend any more but may begin anew', async (driver) => {
    const dead = life();
    const other = await driver.another();
    await driver.store.announce(dead, LONG_MS, true);
    assert.equal(await other.retire(dead.node, randomUUID()), false, 'another incarnation is not retired');
    assert.equal(await other.retire(dead.node, dead.incarnation), true);
    assert.equal(await other.retire(dead.node, dead.incarnation), false, 'it was retired before');
    assert.deepEqual(await present(driver.store, dead), []);
    assert.equal(await driver.store.announce(dead, LONG_MS, false), false);
    assert.deepEqual(await present(driver.store, dead), []);
    assert.equal(await driver.store.announce(dead, LONG_MS, true), true);
  });

  promise(
    "a node lease expires on the store's clock; its own incarnation may extend it unless another was announced",
    async (driver) => {
      const [slow, replaced] = [life(), life()];
      await driver.store.announce(slow, TTL_MS, true);
      await driver.store.announce(replaced, TTL_MS, true);
      await driver.elapse(TTL_MS + 5);
      assert.deepEqual(await present(driver.store, slow, replaced), []);
      await driver.store.announce(life(replaced.node), LONG_MS, true);
      assert.equal(await driver.store.announce(replaced, LONG_MS, false), false);
      assert.equal(await driver.store.announce(slow, LONG_MS, false), true);
      assert.deepEqual(await present(driver.store, slow), [slow]);
    },
  );

  promise('an incarnation that was never announced cannot extend', async (driver) => {
    const unknown = life();
    assert.equal(await driver.store.announce(unknown, LONG_MS, false), false);
    assert.deepEqual(await present(driver.store, unknown), []);
  });

  promise(
    'of two incarnations that begin at the same time one is a member, and only that one can extend',
    async (driver) => {
      const [one, two] = [life(), life()].map((each) => ({ ...each, node: 'node-twice' }));
      assert.ok(one && two);
      const other = await driver.another();
      await Promise.all([driver.store.announce(one, LONG_MS, true), other.announce(two, LONG_MS, true)]);
      const kept = [await driver.store.announce(one, LONG_MS, false), await other.announce(two, LONG_MS, false)];
      assert.deepEqual(kept.toSorted(), [false, true]);
      assert.deepEqual(await present(driver.store, one), [kept[0] ? one : two]);
    },
  );

  promise(
    'a member record and a signal of up to 16 KiB are accepted, larger ones are refused by name',
    async (driver) => {
      const text = 'é'.repeat(MEMBER_TEXT_BYTES / 2);
      const big = life(undefined, text);
      assert.equal(await driver.store.announce(big, LONG_MS, true), true);
      assert.deepEqual(await present(driver.store, big), [big]);
      await driver.store.signal(big.node, text);
      const tooBig = { ...big, card: `${text}x` };
      const refusal = { code: 'payload_too_large' };
      await assert.rejects(driver.store.announce(tooBig, LONG_MS, false), { ...refusal, field: 'card' });
      await assert.rejects(driver.store.signal(null, `${text}x`), { ...refusal, field: 'content' });
      const nameless = { ...big, node: 'two\nlines' };
      await assert.rejects(driver.store.announce(nameless, LONG_MS, true), { code: 'invalid_argument' });
    },
  );

  promise('pools are listed by name with the count they keep, also after a restart', async (driver) => {
    const mark = randomUUID();
    for (const [name, count] of [
      ['b', 4],
      ['a', 8],
      ['b', 16],
    ] as const) {
      await driver.store.definePool(`${mark}-${name}`, count);
    }
    await driver.reopen();
    assert.deepEqual(
      (await driver.store.pools()).filter(({ pool }) => pool.startsWith(mark)),
      [
        { pool: `${mark}-a`, partitions: 8 },
        { pool: `${mark}-b`, partitions: 4 },
      ],
    );
  });

  promise('announcements that are repeated through faults end in one lease, a retirement in none', async (driver) => {
    const each = { executedThenTimedOut: 0.2, notExecuted: 0.2, disconnected: 0.05 };
    const store = new FaultyStore(driver.store, { seed: 3, otherwise: each });
    const lives = Array.from({ length: 20 }, () => life());
    const insist = async (call: () => Promise<boolean>): Promise<boolean> => {
      for (;;) {
        const answer = await call().catch(() => null);
        if (answer !== null) return answer;
      }
    };
    for (const one of lives) {
      assert.equal(await insist(() => store.announce(one, LONG_MS, true)), true);
      assert.equal(await insist(() => store.announce(one, LONG_MS, false)), true);
    }
    assert.equal((await present(driver.store, ...lives)).length, lives.length);
    for (const one of lives) await insist(() => store.retire(one.node, one.incarnation));
    assert.deepEqual(await present(driver.store, ...lives), []);
    for (const one of lives) assert.equal(await insist(() => store.announce(one, LONG_MS, false)), false);
    assert.ok(store.struck.executedThenTimedOut > 0 && store.struck.notExecuted > 0);
  });
}

function signalTests(promise: Promises): void {
  promise('a signal to one node reaches that node alone', async (driver) => {
    const nodes = [randomUUID(), randomUUID()];
    const ears = await heard(driver, nodes, (store, word) => store.signal(nodes[1] ?? '', word));
    await ears.until(([, second]) => second === true);
    assert.deepEqual(ears.hears(), [false, true]);
    ears.stop();
  });

  promise('a signal to all reaches every node, its sender too', async (driver) => {
    const ears = await heard(driver, [randomUUID(), randomUUID()], async (_, word) => driver.store.signal(null, word));
    await ears.until((hears) => hears.every(Boolean));
    ears.stop();
  });

  promise('no signal arrives after unsubscribing', async (driver) => {
    const [gone, stays] = [randomUUID(), randomUUID()];
    const ears = await heard(driver, [gone], (store, word) => store.signal(null, word));
    ears.stop();
    let last = '';
    const stop = driver.store.onSignal(stays, (word) => {
      last = word;
    });
    await eventually('the one who stays hears', async () => {
      await driver.store.signal(null, 'a message without a receiver');
      return last !== '';
    });
    assert.deepEqual(ears.hears(), [false]);
    stop();
  });
}

export function memberContract(make: MakeStore): void {
  section('members', make, (promise) => {
    leaseTests(promise);
    memberChangeTests(promise);
    signalTests(promise);
  });
}

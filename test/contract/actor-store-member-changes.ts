import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { ActorStore } from '../../runtime/actor-store.ts';
import { type Member, type MembersRead, membersAfter } from '../../runtime/members.ts';
import { sample } from '../support/size.ts';
import { eventually, type Promises, type StoreDriver } from './store-under-test.ts';

const TTL_MS = 60;
const LONG_MS = 600_000;

const life = (node = `node-${randomUUID()}`, card = '{}'): Member => ({ node, incarnation: randomUUID(), card });

/** The members as known by a node that reads only the changes since its last read. */
class Follower {
  readonly #store: ActorStore;
  readonly #node: string;
  version = '';
  members: readonly Member[] = [];

  constructor(store: ActorStore, node: string) {
    this.#store = store;
    this.#node = node;
  }

  async look(): Promise<MembersRead> {
    const read = await this.#store.readMembers(this.#node, this.version);
    this.members = membersAfter(this.members, read);
    this.version = read.version;
    return read;
  }

  /** Applies a read at the known version, and reads again from the same version, as if the answer came twice. */
  async lookTwice(): Promise<void> {
    const [from, before] = [this.version, this.members];
    const first = await this.#store.readMembers(this.#node, from);
    const again = await this.#store.readMembers(this.#node, from);
    this.members = membersAfter(membersAfter(before, first), again);
    this.version = again.version;
  }

  of(node: string): readonly Member[] {
    return this.members.filter((member) => member.node === node);
  }

  /** Reads until no change is left: members of other tests may expire meanwhile. */
  async settle(): Promise<void> {
    await eventually('nothing has changed', async () => {
      const { members, gone } = await this.look();
      return members.length === 0 && gone?.length === 0;
    });
  }
}

/** Whether reads return less than all members: a store of one process may return them all. */
const returnsChanges = (driver: StoreDriver): boolean => driver.severalConnections;

function changeTests(promise: Promises): void {
  promise('a read at a known version returns no member while none joined, left or changed', async (driver) => {
    const [own, peer] = [life(), life()];
    const other = await driver.another();
    for (const each of [own, peer]) await driver.store.announce(each, LONG_MS, true);
    const node = new Follower(driver.store, own.node);
    await node.look();
    assert.deepEqual(node.of(peer.node), [peer]);
    await eventually('a read returns no member', async () => {
      for (const each of [own, peer]) assert.ok(await other.announce(each, LONG_MS, false));
      const { version } = node;
      const { soonestMs, ...read } = await node.look();
      assert.ok(soonestMs > 0, `${soonestMs}`);
      // A store without versions returns them each time.
      if (!returnsChanges(driver)) return true;
      return read.version === version && read.members.length === 0 && read.gone?.length === 0;
    });
    assert.deepEqual(node.of(peer.node), [peer]);
  });

  promise('a read after a change returns the member that changed, joined or left, and no other', async (driver) => {
    const [own, peer, silent] = [life(), life(), life()];
    const other = await driver.another();
    for (const each of [own, peer, silent]) await driver.store.announce(each, LONG_MS, true);
    const node = new Follower(driver.store, own.node);
    if (returnsChanges(driver)) await node.settle();
    const versions = new Set([node.version]);
    const reads = async (members: readonly Member[], gone: readonly string[]): Promise<void> => {
      const read = await node.look();
      assert.deepEqual(node.of(peer.node), members);
      assert.deepEqual(node.of(silent.node), [silent]);
      if (!returnsChanges(driver)) return;
      assert.deepEqual({ members: read.members, gone: read.gone }, { members, gone });
      assert.equal(versions.has(read.version), false, 'the version changes with each call');
      versions.add(read.version);
    };
    const changed = { ...peer, card: 'another' };
    await other.announce(changed, LONG_MS, false);
    await reads([changed], []);
    const later = life(peer.node);
    await other.announce(later, LONG_MS, true);
    await reads([later], []);
    assert.ok(await other.retire(later.node, later.incarnation));
    await reads([], [peer.node]);
    await other.announce(peer, LONG_MS, true);
    await reads([peer], []);
  });

  promise('a read at a known version shows which members expired, and which came back', async (driver) => {
    const [own, peer] = [life(), life()];
    await driver.store.announce(own, LONG_MS, true);
    const node = new Follower(driver.store, own.node);
    const sees = async (): Promise<boolean> => {
      await node.look();
      return node.of(peer.node).length > 0;
    };
    await driver.store.announce(peer, LONG_MS, true);
    // On a busy machine the member may have expired before it is read.
    await eventually('the peer is a member', async () => {
      await driver.store.announce(peer, TTL_MS, true);
      return sees();
    });
    await eventually('the peer has expired', async () => !(await sees()));
    await driver.store.announce(own, LONG_MS, false);
    await sees();
    assert.equal(await sees(), false);
    await driver.store.announce(peer, LONG_MS, false);
    assert.equal(await sees(), true);
  });

  promise('many members that join in a short time are returned by one read, each once', async (driver) => {
    const own = life();
    await driver.store.announce(own, LONG_MS, true);
    const node = new Follower(driver.store, own.node);
    if (returnsChanges(driver)) await node.settle();
    const other = await driver.another();
    const joined = Array.from({ length: 100 }, () => life());
    await Promise.all(joined.map((each) => other.announce(each, LONG_MS, true)));
    await Promise.all(joined.map((each) => other.announce({ ...each, card: 'ready' }, LONG_MS, false)));
    const { members } = await node.look();
    const nodes = new Set(joined.map((each) => each.node));
    const found = members.filter((member) => nodes.has(member.node));
    assert.deepEqual(new Set(found.map((member) => member.node)), nodes);
    assert.equal(found.length, joined.length);
    assert.ok(found.every(({ card }) => card === 'ready'));
    for (const each of joined) await other.retire(each.node, each.incarnation);
    await node.look();
    assert.deepEqual(
      node.members.filter((member) => nodes.has(member.node)),
      [],
    );
  });
}

const NODES = ['a', 'b', 'c', 'd'] as const;

const node = fc.constantFrom(...NODES);
const follower = fc.nat({ max: 2 });
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('join' as const), node }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('renew' as const), node }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('change' as const), node, card: fc.constantFrom('x', 'y') }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('retire' as const), node }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('expire' as const), node }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('look' as const), follower }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('look twice' as const), follower }) },
);

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** Members of one run, and followers that read at different times. */
class Run {
  readonly #driver: StoreDriver;
  readonly #mark = randomUUID();
  readonly #lives = new Map<string, Member>();
  readonly #followers: readonly Follower[];
  readonly #other: ActorStore;

  constructor(driver: StoreDriver, other: ActorStore) {
    this.#driver = driver;
    this.#other = other;
    this.#followers = [driver.store, other, other].map((store, n) => new Follower(store, this.#idOf(NODES[n] ?? 'a')));
  }

  #idOf(node: string): string {
    return `${this.#mark}-${node}`;
  }

  #own(members: readonly Member[]): readonly Member[] {
    return members.filter((member) => member.node.startsWith(this.#mark));
  }

  async #now(): Promise<readonly Member[]> {
    const live = await this.#other.members();
    return this.#own(live.map(({ remainingMs: _, ...member }) => member));
  }

  async take(step: Step): Promise<void> {
    if (step.kind === 'look' || step.kind === 'look twice') return this.#compare(step);
    const id = this.#idOf(step.node);
    if (step.kind === 'join') this.#lives.set(id, life(id));
    const member = this.#lives.get(id);
    if (member === undefined) return;
    const { store } = this.#driver;
    if (step.kind === 'retire') await this.#other.retire(id, member.incarnation);
    else if (step.kind === 'expire') {
      if (await store.announce(member, 2, false)) await this.#driver.elapse(5);
    } else {
      const changed = step.kind === 'change' ? { ...member, card: step.card } : member;
      this.#lives.set(id, changed);
      await this.#other.announce(changed, LONG_MS, step.kind === 'join');
    }
  }

  async #compare(step: { readonly kind: 'look' | 'look twice'; readonly follower: number }): Promise<void> {
    const follower = this.#followers[step.follower] ?? assert.fail('there is such a follower');
    const before = await this.#now();
    if (step.kind === 'look') await follower.look();
    else await follower.lookTwice();
    assert.deepEqual(this.#own(follower.members), before);
    assert.deepEqual(await this.#now(), before, 'nothing changed meanwhile');
  }

  async end(): Promise<void> {
    for (const n of this.#followers.keys()) await this.#compare({ kind: 'look', follower: n });
    for (const { node, incarnation } of this.#lives.values()) await this.#other.retire(node, incarnation);
    for (const n of this.#followers.keys()) await this.#compare({ kind: 'look', follower: n });
  }
}

export function memberChangeTests(promise: Promises): void {
  changeTests(promise);

  promise('a node that reads only changes has the same members as one that reads all', async (driver) => {
    const other = await driver.another();
    const run = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const fleet = new Run(driver, other);
      for (const each of steps) await fleet.take(each);
      await fleet.end();
    });
    await fc.assert(run, { numRuns: sample({ quick: 10, normal: 50, long: 500 }) });
  });
}

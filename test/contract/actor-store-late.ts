import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ActorStore, Lease } from '../../runtime/actor-store.ts';
import type { Address, Partition } from '../../runtime/address.ts';
import { type MembersRead, membersAfter } from '../../runtime/members.ts';
import { someOf } from '../support/size.ts';
import { lateAcquiresContract } from './actor-store-late-acquires.ts';
import { at, commitOf, type MakeStore, type Promises, type StoreDriver, section } from './store-under-test.ts';

const TTL_MS = 60_000;

/** A partition with every kind of record, held by node-a at cursor 1, with one waiting entry. */
class Setup {
  readonly driver: StoreDriver;
  readonly partition: Partition;
  readonly elsewhere: Partition;
  readonly self: Address;
  readonly node = `node-${randomUUID()}`;
  readonly lives = [randomUUID(), randomUUID()] as const;
  readonly effects = [randomUUID(), randomUUID()] as const;
  readonly fact = `fact-${randomUUID()}`;
  readonly asked: string;
  /** The present lease. */
  lease: Lease<Partition>;
  /** The members as known by a node that reads only the changes since its last read. */
  #known: MembersRead | null = null;

  constructor(
    driver: StoreDriver,
    places: readonly Partition[],
    self: Address,
    asked: string,
    lease: Lease<Partition>,
  ) {
    this.driver = driver;
    this.partition = at(places, 0);
    this.elsewhere = at(places, 1);
    this.self = self;
    this.asked = asked;
    this.lease = lease;
  }

  static async make(driver: StoreDriver): Promise<Setup> {
    const places = await driver.partitions(2);
    const self = driver.address();
    const [, asked = ''] = await driver.append(at(places, 0), self, 'first', 'second');
    const setup = new Setup(driver, places, self, asked, await driver.lease(at(places, 0), 'node-a'));
    await driver.mustCommit(setup.lease, 0, 1, {
      records: [{ address: self, record: 'before' }],
      journal: 'row',
      events: [{ address: self, first: 1, data: ['e1'] }],
      timersSet: [{ id: 'tick', afterMs: 3_600_000, delivery: driver.delivery(self) }],
      effectsOpened: setup.effects.map((id) => ({ id, queue: 'q', address: self, mode: 'once', body: 'b' })),
      handled: [{ address: self, count: 1 }],
    });
    return setup;
  }

  get store(): ActorStore {
    return this.driver.store;
  }

  /** Another node has the partition now, and has committed. */
  async takeover(): Promise<void> {
    const taken = await this.store.acquire(this.partition, 'node-b', randomUUID(), TTL_MS, this.lease.grant);
    assert.ok(taken.kind === 'granted');
    this.lease = taken.lease;
    const { cursor } = await this.store.backlog(this.partition);
    await this.driver.mustCommit(this.lease, cursor, cursor, {
      records: [{ address: this.self, record: 'of node-b' }],
    });
  }

  /** The actor handles its next message and is created anew. */
  async makeAnew(): Promise<void> {
    await this.driver.mustCommit(this.lease, 1, 2, {
      records: [{ address: this.self, record: 'anew' }],
      events: [{ address: this.self, first: 1, data: ['anew'] }],
      handled: [{ address: this.self, count: 1 }],
    });
  }

  async claim(effect: string, runner: string): Promise<void> {
    const claimed = await this.store.claimEffect(this.partition, effect, runner, TTL_MS, undefined, randomUUID());
    assert.equal(claimed.kind, 'claimed');
  }

  async giveBack(effect: string, attempt: number): Promise<void> {
    assert.ok(await this.store.reopenEffect(this.partition, effect, attempt, 0));
  }

  /** The row of the node, read as changes. */
  async #memberRead() {
    this.#known ??= await this.store.readMembers(this.node, '');
    const read = await this.store.readMembers(this.node, this.#known.version);
    return membersAfter(this.#known.members, read).filter(({ node }) => node === this.node);
  }

  member(life: 0 | 1, card = 'card') {
    return { node: this.node, incarnation: this.lives[life], card };
  }

  /** Everything that can be read of it, without times. */
  async seen() {
    const { store, partition, elsewhere, self, lease } = this;
    const mailboxOf = async (place: Partition) => (await store.readJournal(place, 0, 100)).length;
    const there = await this.driver.lease(elsewhere, 'observer');
    const rows = await store.openEffects(partition);
    const seen = {
      isLeaseLost: (await store.renew([lease], TTL_MS)).length > 0,
      mailbox: await this.driver.entries(lease),
      mailboxElsewhere: await this.driver.entries(there),
      records: await store.load(partition, [self]),
      events: await store.readEvents(partition, self, 0, 100),
      timers: await this.driver.fireTimers(lease),
      effects: rows.map(({ until, ...row }) => row).sort((a, b) => (a.id < b.id ? -1 : 1)),
      reply: await store.recallReply(partition, this.asked),
      depth: await store.depth(partition, self),
      backlog: await store.backlog(partition),
      journal: await mailboxOf(partition),
      member: (await store.members()).filter(({ node }) => node === this.node).map(({ remainingMs, ...it }) => it),
      memberRead: await this.#memberRead(),
      livesKnown: await Promise.all(this.lives.map((life) => store.isKnown(this.node, life))),
      place: await store.locate(partition, self),
      fact: (await store.facts()).get(this.fact),
      pools: (await store.pools()).filter(({ pool }) => partition.startsWith(`${pool}:`) || pool === this.fact),
    };
    await store.release(there);
    return seen;
  }
}

/** A call of the port, and the events that may come between it and its copy. */
interface Case {
  prepare?(setup: Setup): Promise<void>;
  /** The same call when it is called again: a copy, for an adapter in whose process the store runs. */
  call(setup: Setup): () => Promise<unknown>;
  /** A newer call of the same kind, chosen so that a late copy of the first would do the most harm. */
  newer?(setup: Setup): Promise<void>;
  /** Only a copy from below the adapter can be distinguished from a new call, since the call has no id of its own. */
  onlyBelow?: true;
}

const read = (call: (setup: Setup) => Promise<unknown>): Case => ({ call: (setup) => () => call(setup) });

const effectCase = (call: (setup: Setup) => () => Promise<unknown>): Case => ({
  prepare: (setup) => setup.claim(setup.effects[0], 'node-a/1'),
  call,
  async newer(setup) {
    await setup.giveBack(setup.effects[0], 1);
    await setup.claim(setup.effects[0], 'node-b/1');
  },
});

/** Every call of the port, except those that only listen, open or close and so leave no trace. */
const CALLS: Readonly<Record<Exclude<keyof ActorStore, 'sharedLogs' | 'isInProcess' | 'unlock'>, Case | null>> = {
  open: null,
  close: null,
  onReply: null,
  onWake: null,
  onReturn: null,
  onSignal: null,
  onEvents: null,
  onEffectCancelled: null,
  renewedAt: null,
  cameBackAt: read(({ store, lease }) => store.cameBackAt(lease)),
  freeze: null,
  now: read(({ store, partition }) => store.now(partition)),
  recallReply: read(({ store, partition, asked }) => store.recallReply(partition, asked)),
  depth: read(({ store, partition, self }) => store.depth(partition, self)),
  backlog: read(({ store, partition }) => store.backlog(partition)),
  unread: read(({ store, partition, self }) => store.unread(partition, self, 0, 10)),
  members: read(({ store }) => store.members()),
  readMembers: read(({ store, node }) => store.readMembers(node, '')),
  isKnown: read(({ store, node, lives }) => store.isKnown(node, lives[0])),
  pools: read(({ store }) => store.pools()),
  load: read(({ store, partition, self }) => store.load(partition, [self])),
  recorded: read(({ store, partition }) => store.recorded(partition)),
  actorCount: read(({ store, partition }) => store.actorCount(partition)),
  timersDue: read(({ store, partition }) => store.timersDue(partition, ['t'])),
  effectRows: read(({ store, partition, effects }) => store.effectRows(partition, [...effects])),
  effectBodies: read(({ store, partition, effects }) => store.effectBodies(partition, [...effects])),
  openEffects: read(({ store, partition }) => store.openEffects(partition)),
  readEvents: read(({ store, partition, self }) => store.readEvents(partition, self, 0, 10)),
  readJournal: read(({ store, partition }) => store.readJournal(partition, 0, 10)),
  locate: read(({ store, partition, self }) => store.locate(partition, self)),
  placed: read(({ store, partition }) => store.placed(partition, null)),
  facts: read(({ store }) => store.facts()),
  // A signal only shortens a wait.
  signal: read(({ store, node }) => store.signal(node, 'word')),
  definePool: {
    call:
      ({ store, fact }) =>
      () =>
        store.definePool(fact, 4),
    newer: async ({ store, fact }) => assert.equal(await store.definePool(fact, 8), 4),
  },
  append: {
    call: ({ driver, store, partition, self }) => {
      const delivery = driver.delivery(self, 'a client’s');
      return () => store.append(partition, [delivery], 10);
    },
    newer: async ({ driver, partition, self }) => void (await driver.append(partition, self, 'newer')),
  },
  acquire: {
    prepare: ({ store, lease }) => store.release(lease),
    call: (setup) => {
      const grant = randomUUID();
      return async () => {
        const granted = await setup.store.acquire(setup.partition, 'node-a', grant, TTL_MS);
        if (granted.kind === 'granted') setup.lease = granted.lease;
      };
    },
    async newer(setup) {
      setup.lease = await setup.driver.lease(setup.partition, 'node-a');
    },
    onlyBelow: true,
  },
  renew: {
    call:
      ({ store, lease }) =>
      () =>
        store.renew([lease], TTL_MS),
    newer: async ({ store, lease }) => assert.deepEqual(await store.renew([lease], TTL_MS), []),
  },
  vouch: {
    call:
      ({ store, lease }) =>
      () =>
        store.vouch(lease),
    newer: async ({ store, lease }) => assert.ok(await store.vouch(lease)),
  },
  release: {
    call:
      ({ store, lease }) =>
      () =>
        store.release(lease),
    async newer(setup) {
      setup.lease = await setup.driver.lease(setup.partition, 'node-a');
    },
  },
  poll: {
    call:
      ({ store, lease }) =>
      () =>
        store.poll([{ lease, after: 1 }], 10),
    newer: async ({ store, lease }) => void (await store.poll([{ lease, after: 2 }], 10)),
  },
  commit: {
    call: ({ driver, store, partition, elsewhere, self, lease, effects }) => {
      const commit = commitOf(lease, 1, 1, {
        records: [{ address: self, record: 'of this commit' }],
        sends: [partition, elsewhere].map((to) => ({ partition: to, delivery: driver.delivery(self, 'sent') })),
        timersSet: [{ id: 'tock', afterMs: 7_200_000, delivery: driver.delivery(self) }],
        timersCleared: ['tick'],
        effectsCancelled: [effects[1]],
      });
      return async () => {
        await store.commit(commit, 0);
        await driver.flush(lease);
      };
    },
    async newer({ driver, self, lease }) {
      await driver.mustCommit(lease, 1, 1, {
        records: [{ address: self, record: 'newer' }],
        timersSet: [{ id: 'tick', afterMs: 3_000_000, delivery: driver.delivery(self) }],
      });
    },
  },
  fireTimers: {
    prepare: async ({ driver, self, lease }) =>
      void (await driver.mustCommit(lease, 1, 1, {
        timersSet: [{ id: 'now', afterMs: 0, delivery: driver.delivery(self, 'due') }],
      })),
    call:
      ({ store, lease }) =>
      () =>
        store.fireTimers([lease]),
    async newer({ driver, self, lease }) {
      await driver.mustCommit(lease, 1, 1, {
        timersSet: [{ id: 'now', afterMs: 0, delivery: driver.delivery(self, 'due again') }],
      });
      await driver.fireTimers(lease);
    },
  },
  flushOutbox: {
    prepare: async ({ driver, elsewhere, self, lease }) =>
      void (await driver.mustCommit(lease, 1, 1, {
        sends: [{ partition: elsewhere, delivery: driver.delivery(self, 'owed') }],
      })),
    call:
      ({ store, lease }) =>
      () =>
        store.flushOutbox(lease),
    async newer({ driver, elsewhere, self, lease }) {
      await driver.mustCommit(lease, 1, 1, {
        sends: [{ partition: elsewhere, delivery: driver.delivery(self, 'owed too') }],
      });
      await driver.flush(lease);
    },
  },
  forget: {
    call:
      ({ store, self, lease }) =>
      () =>
        store.forget(lease, 1, [self]),
    newer: (setup) => setup.makeAnew(),
  },
  claimEffect: {
    call: ({ store, partition, effects }) => {
      const claim = randomUUID();
      return () => store.claimEffect(partition, effects[0], 'node-a/1', TTL_MS, undefined, claim);
    },
    async newer(setup) {
      await setup.giveBack(setup.effects[0], 1);
      await setup.claim(setup.effects[0], 'node-b/1');
      await setup.giveBack(setup.effects[0], 2);
    },
  },
  keepEffect: effectCase(
    ({ store, partition, effects }) =>
      () =>
        store.keepEffect(partition, effects[0], 1, TTL_MS),
  ),
  progressEffect: effectCase(({ driver, store, partition, effects, self }) => {
    const delivery = driver.delivery(self, 'a chunk');
    return () => store.progressEffect(partition, effects[0], 1, delivery);
  }),
  settleEffect: {
    prepare: (setup) => setup.claim(setup.effects[0], 'node-a/1'),
    call: ({ driver, store, partition, effects, self }) => {
      const delivery = driver.delivery(self, 'a result');
      return () => store.settleEffect(partition, effects[0], 1, delivery);
    },
    async newer(setup) {
      const { driver, store, partition, effects, self } = setup;
      await setup.claim(effects[1], 'node-a/1');
      assert.ok(await store.settleEffect(partition, effects[1], 1, driver.delivery(self, 'another result')));
    },
  },
  reopenEffect: {
    prepare: (setup) => setup.claim(setup.effects[0], 'node-a/1'),
    call:
      ({ store, partition, effects }) =>
      () =>
        store.reopenEffect(partition, effects[0], 1, 0),
    newer: (setup) => setup.claim(setup.effects[0], 'node-b/1'),
  },
  trimJournal: {
    call:
      ({ store, lease }) =>
      () =>
        store.trimJournal(lease, 1),
    async newer({ driver, store, lease }) {
      await driver.mustCommit(lease, 1, 2, { journal: 'row 2' });
      await store.trimJournal(lease, 2);
      await driver.mustCommit(lease, 2, 2, { journal: 'row 3' });
    },
  },
  announce: {
    call: (setup) => () => setup.store.announce(setup.member(0, 'first card'), TTL_MS, true),
    newer: async (setup) => assert.ok(await setup.store.announce(setup.member(0, 'newer card'), TTL_MS, false)),
    onlyBelow: true,
  },
  retire: {
    prepare: async (setup) => assert.ok(await setup.store.announce(setup.member(0), TTL_MS, true)),
    call: (setup) => () => setup.store.retire(setup.node, setup.lives[0]),
    newer: async (setup) => assert.ok(await setup.store.announce(setup.member(0), TTL_MS, true)),
    onlyBelow: true,
  },
  place: {
    call:
      ({ store, partition, elsewhere, self }) =>
      () =>
        store.place(partition, self, elsewhere),
    newer: async ({ store, partition, elsewhere, self }) => assert.ok(await store.unplace(partition, self, elsewhere)),
    onlyBelow: true,
  },
  unplace: {
    prepare: async ({ store, partition, elsewhere, self }) => void (await store.place(partition, self, elsewhere)),
    call:
      ({ store, partition, elsewhere, self }) =>
      () =>
        store.unplace(partition, self, elsewhere),
    newer: async ({ store, partition, elsewhere, self }) => void (await store.place(partition, self, elsewhere)),
    onlyBelow: true,
  },
  keepFact: {
    call:
      ({ store, fact }) =>
      () =>
        store.keepFact(fact, 'first'),
    newer: ({ store, fact }) => store.keepFact(fact, 'newer'),
    onlyBelow: true,
  },
  refuseOlderPrograms: read(({ store }) => store.refuseOlderPrograms()),
};

/** Other uses of a call of the port, which a store may send in another way. */
const OTHER_CALLS: Readonly<Record<string, Case>> = {
  'append of fresh messages': {
    call: ({ driver, store, partition, self }) => {
      const deliveries = ['one', 'two'].map((body) => ({ ...driver.delivery(self, body), fresh: true }));
      return () => store.append(partition, deliveries, 10);
    },
    newer: async ({ driver, store, partition, self }) =>
      void (await store.append(partition, [{ ...driver.delivery(self, 'newer'), fresh: true }], 10)),
  },
};

const BETWEEN: Readonly<Record<string, (setup: Setup, tried: Case) => Promise<void>>> = {
  twice: async () => {},
  'late, after another node took the partition and the next life of its node was announced': async (setup) => {
    await setup.takeover();
    assert.ok(await setup.store.announce(setup.member(1), TTL_MS, true));
  },
  'late, after a newer call of its kind': async (setup, tried) => tried.newer?.(setup),
};

/** More than the number of handled message ids that a store keeps. */
const FORGOTTEN_AFTER = 3 * 4_500;
const AT_ONCE = 500;

function forgottenContract(promise: Promises): void {
  promise('an append or a chunk that is repeated after its id was forgotten is not appended', async (driver) => {
    const partition = await driver.partition();
    const lease = await driver.lease(partition);
    const message = driver.delivery(driver.address(), 'once');
    const { to } = message;
    const effect = randomUUID();
    const started = { runner: 'node-a/1', ttlMs: TTL_MS };
    await driver.mustCommit(lease, 0, 0, {
      effectsOpened: [{ id: effect, queue: 'q', address: to, mode: 'once', body: 'b', started }],
    });
    const sentAt = await driver.store.now(partition);
    const recording = driver.record();
    assert.equal(at(await driver.store.append(partition, [message], 10), 0).kind, 'accepted');
    assert.ok(await driver.store.progressEffect(partition, effect, 1, driver.delivery(to, 'a chunk')));
    const copies = recording?.stop();
    await driver.mustCommit(lease, 0, 2, { handled: [{ address: to, count: 1 }] });
    for (let cursor = 2; cursor < FORGOTTEN_AFTER; cursor += AT_ONCE) {
      await driver.append(partition, driver.address(), ...Array.from({ length: AT_ONCE }, () => 'later'));
      await driver.mustCommit(lease, cursor, cursor + AT_ONCE);
    }
    const { tail } = await driver.store.backlog(partition);
    await copies?.();
    const ageMs = (await driver.store.now(partition)) - sentAt;
    assert.deepEqual(await driver.store.append(partition, [message], 10, ageMs), [{ kind: 'late' }]);
    assert.equal((await driver.store.backlog(partition)).tail, tail);
    // It is accepted as a new message, since the id was forgotten.
    assert.deepEqual(await driver.store.append(partition, [message], 10), [{ kind: 'accepted', seq: tail + 1 }]);
  });

  promise(
    'a repeat of an append whose id is remembered, or that is the first to arrive, is no late one',
    async (driver) => {
      const partition = await driver.partition();
      const [known, fresh] = [driver.delivery(driver.address()), driver.delivery(driver.address())];
      const sentAt = await driver.store.now(partition);
      await driver.append(partition, driver.address(), 'before');
      await driver.store.append(partition, [known], 10);
      const ageMs = (await driver.store.now(partition)) - sentAt + 1;
      assert.deepEqual(await driver.store.append(partition, [known, fresh], 10, ageMs), [
        { kind: 'duplicate', reply: null },
        { kind: 'accepted', seq: 3 },
      ]);
    },
  );
}

export function lateContract(make: MakeStore): void {
  section('a call that arrives again changes nothing', make, (promise) => {
    forgottenContract(promise);
    lateAcquiresContract(promise);
    for (const [name, tried] of Object.entries({ ...CALLS, ...OTHER_CALLS })) {
      if (tried === null) continue;
      for (const [when, between] of someOf(Object.entries(BETWEEN), 3)) {
        promise(`${name}, ${when}`, async (driver) => {
          const setup = await Setup.make(driver);
          await tried.prepare?.(setup);
          const call = tried.call(setup);
          const recording = driver.record();
          await call();
          const copies = recording?.stop();
          await between(setup, tried);
          const before = await setup.seen();
          if (copies !== undefined) await copies();
          else if (tried.onlyBelow === undefined) await call();
          assert.deepEqual(await setup.seen(), before);
        });
      }
    }
  });
}

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { ActorStore, Commit, CommitOutcome, Lease } from '../../runtime/actor-store.ts';
import { type Address, addressOf, type Partition, partitionsOf } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Delivery, MailboxEntry } from '../../runtime/message.ts';
import type { Recording } from '../support/redis-wire.ts';

/** One adapter over fresh, empty data. */
export interface StoreUnderTest {
  readonly store: ActorStore;
  /** A second connection to the same data, as another process has it. Absent when only one process may open it. */
  another?(): Promise<ActorStore>;
  /** Closes the store, forgets everything in memory and opens the data again. */
  reopen?(): Promise<ActorStore>;
  /** Keeps copies of the calls below the adapter. Absent: the store runs in the adapter's process. */
  record?(): Recording;
  /** From here on calls arrive twice, or once more later; returns a function that ends this. Absent: as `record`. */
  disturb?(): () => Promise<void>;
  /** Moves the store's clock on. Absent: the suite waits until the store's clock says so. */
  advance?(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Slots of which a store may have partitions. */
const MOST_TAGS = 16;

export type MakeStore = () => Promise<StoreUnderTest>;

type Change = Partial<Omit<Commit, 'lease' | 'after' | 'upTo'>>;

/** Helpers for the tests of the contract: fresh partitions, and short forms of append, lease and commit. */
export class StoreDriver {
  store: ActorStore;
  readonly #under: StoreUnderTest;

  constructor(under: StoreUnderTest) {
    this.#under = under;
    this.store = under.store;
  }

  get severalConnections(): boolean {
    return this.#under.another !== undefined;
  }

  /** Another connection where the adapter has such, else the same one. */
  another(): Promise<ActorStore> {
    return this.#under.another?.() ?? Promise.resolve(this.store);
  }

  /** The same store for callers that repeat a call until they get its answer, as all callers of the port do. */
  insisting(): StoreDriver {
    const { another } = this.#under;
    return new StoreDriver({
      ...this.#under,
      store: insisting(this.store),
      ...(another === undefined ? {} : { another: async () => insisting(await another()) }),
    });
  }

  /** Forgets what the adapter holds in memory, where it can. */
  async reopen(): Promise<void> {
    if (this.#under.reopen) this.store = await this.#under.reopen();
  }

  record(): Recording | undefined {
    return this.#under.record?.();
  }

  /**
   * Calls arrive twice and late, where the adapter allows it. Returns a function that ends this when all of them have
   * arrived.
   */
  disturb(): () => Promise<void> {
    return this.#under.disturb?.() ?? (async () => {});
  }

  /** Fresh partitions of a fresh pool. */
  async partitions(count: number): Promise<Partition[]> {
    const pool = `p${randomBytes(5).toString('hex')}`;
    assert.equal(await this.store.definePool(pool, count), count);
    return partitionsOf({ pool, partitions: count });
  }

  /** Partitions that may share a log. */
  async partitionsOfOneTag(count: number): Promise<Partition[]> {
    const { sharedLogs } = this.store;
    assert.ok(sharedLogs !== undefined, 'the store has no shared logs');
    const all = await this.partitions(count * MOST_TAGS);
    const tag = sharedLogs.tagOf(at(all, 0));
    return all.filter((partition) => sharedLogs.tagOf(partition) === tag).slice(0, count);
  }

  async partition(): Promise<Partition> {
    return at(await this.partitions(1), 0);
  }

  address(): Address {
    return addressOf('thing', 'tenant-a', randomUUID());
  }

  delivery(to: Address, body: string = randomUUID()): Delivery {
    return { id: randomUUID(), to, body };
  }

  /** Appends one body in each call for one actor; returns the message ids. */
  async append(partition: Partition, to: Address, ...bodies: string[]): Promise<string[]> {
    const deliveries = bodies.map((body) => this.delivery(to, body));
    const outcomes = await this.store.append(partition, deliveries, 10_000);
    for (const outcome of outcomes) assert.equal(outcome.kind, 'accepted');
    return deliveries.map((delivery) => delivery.id);
  }

  async lease(partition: Partition, node = 'node-a', ttlMs = 60_000): Promise<Lease<Partition>> {
    const outcome = await this.store.acquire(partition, node, randomUUID(), ttlMs);
    if (outcome.kind !== 'granted') assert.fail(`the lease of ${partition} is held by ${outcome.by}`);
    return outcome.lease;
  }

  async cursor(partition: Partition): Promise<number> {
    return (await this.store.backlog(partition)).cursor;
  }

  commit(lease: Lease, after: number, upTo: number, change: Change = {}, readAhead = 0): Promise<CommitOutcome> {
    return this.store.commit(commitOf(lease, after, upTo, change), readAhead);
  }

  async mustCommit(lease: Lease, after: number, upTo: number, change: Change = {}, readAhead = 0) {
    const outcome = await this.commit(lease, after, upTo, change, readAhead);
    if (outcome.kind !== 'committed') assert.fail(`the commit ${after}..${upTo} of ${lease.log} was fenced`);
    return outcome;
  }

  async entries(lease: Lease, after = 0, limit = 10_000): Promise<MailboxEntry[]> {
    return [...(at(await this.store.poll([{ lease, after }], limit), 0) ?? [])];
  }

  async bodies(lease: Lease, after = 0): Promise<string[]> {
    return (await this.entries(lease, after)).map((entry) => entry.body);
  }

  /** Hands over what a partition owes to others. */
  async flush(lease: Lease<Partition>, store: ActorStore = this.store): Promise<void> {
    for (let round = 0; round < 1_000; round++) if (!(await store.flushOutbox(lease))) return;
    assert.fail(`the outbox of ${lease.log} is not empty after 1,000 rounds`);
  }

  async fireTimers(lease: Lease<Partition>): Promise<number | null> {
    return at(await this.store.fireTimers([lease]), 0);
  }

  /** Until the store's clock has moved by `ms`. */
  async elapse(ms: number): Promise<void> {
    if (this.#under.advance) return this.#under.advance(ms);
    const target = (await this.store.now()) + ms;
    await eventually(`the store's clock moves by ${ms} ms`, async () => (await this.store.now()) >= target);
  }

  close(): Promise<void> {
    return this.#under.close();
  }
}

const REPEATED_WITHIN_MS = 30_000;

/** A port whose calls are repeated while they end as `unavailable`. */
function insisting<T extends object>(port: T): T {
  const again = async (failed: Promise<unknown>, call: () => unknown): Promise<unknown> => {
    const until = performance.now() + REPEATED_WITHIN_MS;
    for (let tried = failed; ; tried = Promise.resolve(call())) {
      try {
        return await tried;
      } catch (error) {
        if (!(error instanceof SvcError) || error.code !== 'unavailable' || performance.now() > until) throw error;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  };
  return new Proxy(port, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === 'sharedLogs' && typeof value === 'object' && value !== null) return insisting(value);
      if (typeof value !== 'function') return value;
      return (...asked: unknown[]): unknown => {
        const call = (): unknown => Reflect.apply(value, target, asked);
        const first = call();
        return first instanceof Promise && asked.length > 0 ? again(first, call) : first;
      };
    },
  });
}

export function commitOf(lease: Lease, after: number, upTo: number, change: Change = {}): Commit {
  return {
    lease,
    after,
    upTo,
    records: [],
    journal: null,
    events: [],
    sends: [],
    timersSet: [],
    timersCleared: [],
    effectsOpened: [],
    effectsCancelled: [],
    replies: [],
    handled: [],
    ...change,
  };
}

/** The element at an index that must be there. */
export function at<T>(list: readonly T[], index: number): T {
  const value = list[index];
  if (value === undefined) assert.fail(`there is no element ${index} of ${list.length}`);
  return value;
}

/** Polls a condition; the failure names the condition. */
export async function eventually(what: string, holds: () => boolean | Promise<boolean>, withinMs = 30_000) {
  const deadline = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > deadline) assert.fail(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export type Promises = (title: string, body: (driver: StoreDriver) => Promise<void>) => void;

/** A part of the contract; its tests share one store and take fresh partitions each. */
export function section(title: string, make: MakeStore, tests: (promise: Promises) => void): void {
  describe(title, () => {
    let driver: StoreDriver | undefined;
    before(async () => {
      driver = new StoreDriver(await make());
    });
    after(async () => {
      await driver?.close();
    });
    tests((promise, body) => {
      it(promise, async () => {
        assert.ok(driver, 'the store was made');
        await body(driver);
      });
    });
  });
}

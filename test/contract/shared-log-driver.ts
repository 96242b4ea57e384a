import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ActorStore, Lease, PartitionChanges } from '../../runtime/actor-store.ts';
import type { Address, Partition, SharedLog } from '../../runtime/address.ts';
import type { SharedLogs } from '../../runtime/leases.ts';
import type { Delivery } from '../../runtime/message.ts';
import { commitOf, type StoreDriver } from './store-under-test.ts';

export const TTL_MS = 60_000;
export const BOUND = 10_000;
export const NO_CHANGES: PartitionChanges = {
  ...{ records: [], events: [], sends: [], timersSet: [], timersCleared: [] },
  ...{ effectsOpened: [], effectsCancelled: [] },
};

export const logsOf = (store: ActorStore): SharedLogs =>
  store.sharedLogs ?? assert.fail('the store has no shared logs');
/** A name for a log that these may share. */
export function nameOf(store: ActorStore, [partition]: readonly Partition[]): SharedLog {
  const tag = partition === undefined ? '' : logsOf(store).tagOf(partition);
  return `log-${tag === '' ? '' : `${tag}.`}${randomUUID()}`;
}
export const fresh = (to: Address, body: string): Delivery => ({ id: randomUUID(), to, body, fresh: true });

/** Partitions that share a log of node-a. */
export class SharedLogDriver {
  readonly driver: StoreDriver;
  readonly partitions: readonly Partition[];
  readonly homes: readonly Lease<Partition>[];
  readonly lease: Lease<SharedLog>;
  cursor: number;

  constructor(driver: StoreDriver, homes: readonly Lease<Partition>[], lease: Lease<SharedLog>, cursor: number) {
    this.driver = driver;
    this.homes = homes;
    this.partitions = homes.map(({ log }) => log);
    this.lease = lease;
    this.cursor = cursor;
  }

  static async make(driver: StoreDriver, count = 3): Promise<SharedLogDriver> {
    const homes: Lease<Partition>[] = [];
    for (const partition of await driver.partitionsOfOneTag(count)) homes.push(await driver.lease(partition, 'node-a'));
    const setup = await SharedLogDriver.over(driver, homes);
    assert.deepEqual(
      await logsOf(driver.store).join(setup.lease, homes),
      homes.map(() => 'joined'),
    );
    return setup;
  }

  /** A log that nothing shares yet. */
  static async over(driver: StoreDriver, homes: readonly Lease<Partition>[]): Promise<SharedLogDriver> {
    const partitions = homes.map((home) => home.log);
    const log = nameOf(driver.store, partitions);
    const made = await logsOf(driver.store).make(log, 'node-a', randomUUID(), TTL_MS, partitions);
    return made === null
      ? assert.fail('the log was not made')
      : new SharedLogDriver(driver, homes, made.lease, made.cursor);
  }

  get logs(): SharedLogs {
    return logsOf(this.driver.store);
  }

  async bodies(lease: Lease = this.lease, after = this.cursor): Promise<string[]> {
    return (await this.driver.entries(lease, after)).map(({ partition, body }) => `${this.#nth(partition)}:${body}`);
  }

  #nth(partition: Partition | undefined): number {
    return partition === undefined ? -1 : this.partitions.indexOf(partition);
  }

  /** Handles the waiting messages. */
  async commit(changes: readonly ({ readonly partition: Partition } & Partial<PartitionChanges>)[], upTo?: number) {
    const entries = await this.driver.entries(this.lease, this.cursor);
    const last = upTo ?? entries.at(-1)?.seq ?? this.cursor;
    const partitions = changes.map((one) => ({ ...NO_CHANGES, ...one }));
    const commit = { ...commitOf(this.lease, this.cursor, last, { journal: 'row' }), partitions };
    const outcome = await this.driver.store.commit(commit, 100);
    if (outcome.kind === 'committed') this.cursor = last;
    return outcome;
  }
}

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Lease } from '../../runtime/actor-store.ts';
import type { Address, Partition, SharedLog } from '../../runtime/address.ts';
import type { SharedLogs } from '../../runtime/leases.ts';
import { BOUND, fresh, logsOf, nameOf, SharedLogDriver, TTL_MS } from './shared-log-driver.ts';
import { at, eventually, type MakeStore, type StoreDriver, section } from './store-under-test.ts';

/** A log of node-a with two partitions and one unread message, and a third partition with a log of its own. */
class Shared {
  readonly driver: StoreDriver;
  readonly log: SharedLogDriver;
  readonly alone: Lease<Partition>;
  readonly ended: Address;
  /** The lease of the log that is in force. */
  lease: Lease<SharedLog>;

  constructor(driver: StoreDriver, log: SharedLogDriver, alone: Lease<Partition>, ended: Address) {
    this.driver = driver;
    this.log = log;
    this.alone = alone;
    this.ended = ended;
    this.lease = log.lease;
  }

  static async make(driver: StoreDriver): Promise<Shared> {
    const homes: Lease<Partition>[] = [];
    for (const partition of await driver.partitionsOfOneTag(3)) homes.push(await driver.lease(partition, 'node-a'));
    const [one, two, alone] = [at(homes, 0), at(homes, 1), at(homes, 2)];
    const log = await SharedLogDriver.over(driver, homes);
    assert.deepEqual(await log.logs.join(log.lease, [one, two]), ['joined', 'joined']);
    const shared = new Shared(driver, log, alone, driver.address());
    await log.commit([{ partition: one.log, records: [{ address: shared.ended, record: 'ended' }] }]);
    await shared.append(one.log, 'waits');
    return shared;
  }

  get logs(): SharedLogs {
    return logsOf(this.driver.store);
  }

  get one(): Partition {
    return at(this.log.partitions, 0);
  }

  async append(partition: Partition, body: string): Promise<void> {
    await this.driver.store.append(partition, [fresh(this.driver.address(), body)], BOUND);
  }

  /** Another node has the log now. */
  async takeover(): Promise<void> {
    const adopted = await this.logs.adopt(this.lease.log, 'node-b', randomUUID(), TTL_MS, this.lease.grant);
    if (adopted.kind === 'granted') this.lease = adopted.lease;
    else assert.equal(adopted.kind, 'gone');
  }

  /** The log is closed and read to its end, and its journal is in documents. */
  async closeAndRead(): Promise<void> {
    assert.ok((await this.logs.close(this.lease)) !== null);
    assert.equal((await this.log.commit([])).kind, 'committed');
    await this.driver.store.trimJournal(this.lease, this.log.cursor);
  }

  /** The partitions of the log share another one, after this one was closed. */
  async shareAnother(): Promise<void> {
    const cursors = await Promise.all(this.log.partitions.map((partition) => this.driver.cursor(partition)));
    const next = await SharedLogDriver.over(this.driver, this.log.homes);
    assert.ok(cursors.every((cursor) => cursor < next.cursor));
    assert.ok((await next.logs.join(next.lease, this.log.homes))?.every((outcome) => outcome === 'joined'));
    await this.append(this.one, 'in another log');
  }

  /** What can be seen of the log and its partitions. */
  async seen() {
    const { store } = this.driver;
    const places = [this.lease.log, ...this.log.partitions, this.alone.log];
    return {
      exists: (await this.logs.list()).includes(this.lease.log),
      isLeaseLost: (await store.renew([this.lease], TTL_MS)).length > 0,
      backlogs: await Promise.all(places.map((place) => store.backlog(place))),
      journals: await Promise.all(places.map((place) => store.readJournal(place, 0, 100))),
      mailbox: (await store.poll([{ lease: this.lease, after: this.log.cursor }], 100))[0],
      postponed: await Promise.all(this.log.partitions.map((partition) => this.logs.postponed(partition, 0, 100))),
      record: await store.load(this.one, [this.ended]),
    };
  }
}

interface Case {
  prepare?(shared: Shared): Promise<void>;
  /** The same again when it is called again. */
  call(shared: Shared): () => Promise<unknown>;
  /** What a late copy of the call would harm most. */
  newer(shared: Shared): Promise<void>;
}

const nothing = async (): Promise<void> => {};

/** Every call that changes something. */
const CALLS: Readonly<Record<Exclude<keyof SharedLogs, 'mayBeMade' | 'tagOf' | 'list' | 'postponed'>, Case>> = {
  make: {
    call(shared) {
      const [name, grant] = [nameOf(shared.driver.store, [shared.alone.log]), randomUUID()];
      return async () => {
        const made = await shared.logs.make(name, 'node-a', grant, TTL_MS, [shared.alone.log]);
        if (made !== null) shared.lease = made.lease;
      };
    },
    async newer(shared) {
      const { lease } = shared;
      assert.ok((await shared.logs.close(lease)) !== null);
      assert.ok(await shared.logs.remove(lease));
    },
  },
  join: {
    call: (shared) => () => shared.logs.join(shared.log.lease, [shared.alone]),
    async newer(shared) {
      assert.ok((await shared.logs.close(shared.lease)) !== null);
    },
  },
  close: {
    call: (shared) => () => shared.logs.close(shared.log.lease),
    newer: (shared) => shared.shareAnother(),
  },
  adopt: {
    call(shared) {
      const [{ lease }, grant] = [shared.log, randomUUID()];
      return async () => {
        const adopted = await shared.logs.adopt(lease.log, 'node-c', grant, TTL_MS, lease.grant);
        if (adopted.kind === 'granted') shared.lease = adopted.lease;
      };
    },
    newer: (shared) => shared.takeover(),
  },
  remove: {
    prepare: (shared) => shared.closeAndRead(),
    call: (shared) => () => shared.logs.remove(shared.log.lease),
    newer: (shared) => shared.shareAnother(),
  },
  forgetEnded: {
    call: (shared) => () => shared.logs.forgetEnded(shared.one, new Map([[shared.ended, 'ended']])),
    async newer(shared) {
      const records = [{ address: shared.ended, record: 'heard something' }];
      await shared.log.commit([{ partition: shared.one, records }]);
    },
  },
};

const BETWEEN: Readonly<Record<string, (shared: Shared, tried: Case) => Promise<void>>> = {
  twice: nothing,
  'late, after another node took the log': (shared) => shared.takeover(),
  'late, after a newer call': (shared, tried) => tried.newer(shared),
};

/** Copies of calls that make, share, close, take over and remove logs, and several nodes that want one. */
export function sharedLogsLate(make: MakeStore): void {
  section('a call for a log that partitions share changes nothing when it arrives again', make, (promise) => {
    for (const [name, tried] of Object.entries(CALLS)) {
      for (const [when, between] of Object.entries(BETWEEN)) {
        promise(`${name}, ${when}`, async (driver) => {
          const shared = await Shared.make(driver);
          await tried.prepare?.(shared);
          const call = tried.call(shared);
          const recording = driver.record();
          await call();
          const copies = recording?.stop();
          await between(shared, tried);
          const { lease } = shared;
          const before = await shared.seen();
          await (copies ?? call)();
          shared.lease = lease;
          assert.deepEqual(await shared.seen(), before);
        });
      }
    }

    promise('a copy of an adoption that was refused gets nothing once the lease has run out', async (driver) => {
      const { log } = await Shared.make(driver);
      const recording = driver.record();
      const refused = await log.logs.adopt(log.lease.log, 'node-b', randomUUID(), TTL_MS);
      assert.ok(refused.kind === 'held' && refused.by === 'node-a');
      const copies = recording?.stop();
      await driver.store.renew([log.lease], 1);
      await driver.elapse(2);
      await copies?.();
      const taken = await log.logs.adopt(log.lease.log, 'node-c', randomUUID(), TTL_MS);
      assert.equal(taken.kind, 'granted');
    });

    promise('of several nodes that adopt the log of a dead one at once, one gets it', async (driver) => {
      const { log } = await Shared.make(driver);
      await driver.store.renew([log.lease], 1);
      await eventually('the lease of the dead node has run out', async () => {
        const stores = await Promise.all([1, 2, 3].map(() => driver.another()));
        const outcomes = await Promise.all(
          stores.map((store, n) => logsOf(store).adopt(log.lease.log, `node-${n}`, randomUUID(), TTL_MS)),
        );
        for (const store of stores) if (store !== driver.store) await store.close();
        const takers = outcomes.filter(({ kind }) => kind === 'granted').length;
        if (takers === 0) assert.ok(outcomes.every((one) => one.kind === 'held' && one.by === 'node-a'));
        else assert.equal(takers, 1);
        return takers === 1;
      });
      assert.equal((await log.commit([])).kind, 'fenced');
    });
  });
}

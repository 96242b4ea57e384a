import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { Lease } from '../../runtime/actor-store.ts';
import type { Address, Partition } from '../../runtime/address.ts';
import { sample } from '../support/size.ts';
import { at, type MakeStore, type StoreDriver, section } from './store-under-test.ts';

const BOUND = 4;

type Step =
  | { readonly do: 'append'; readonly on: number; readonly actor: number; readonly id: number }
  | { readonly do: 'commit'; readonly on: number; readonly take: number; readonly emit: number; readonly send: number }
  | { readonly do: 'stale'; readonly on: number; readonly wrong: 'epoch' | 'grant' | 'cursor' }
  | { readonly do: 'lease'; readonly on: number }
  | { readonly do: 'takeOver'; readonly on: number; readonly known: boolean }
  | { readonly do: 'trim'; readonly on: number; readonly near: number }
  | { readonly do: 'forget'; readonly on: number; readonly actor: number }
  | { readonly do: 'reopen' };

const on = fc.nat(1);
const actor = fc.nat(1);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('append' as const), on, actor, id: fc.nat(25) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('commit' as const),
      on,
      take: fc.nat(3),
      emit: fc.nat(2),
      send: fc.nat(2),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('stale' as const),
      on,
      wrong: fc.constantFrom('epoch' as const, 'grant' as const, 'cursor' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lease' as const), on }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('takeOver' as const), on, known: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('trim' as const), on, near: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), on, actor }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const) }) },
);

interface Entry {
  readonly body: string;
  /** Actor whose client message it is; null for messages of actors. */
  readonly client: number | null;
  readonly id: string;
}

interface ModelPartition {
  readonly name: Partition;
  readonly entries: Entry[];
  cursor: number;
  readonly replies: Map<string, string>;
  readonly records: (string | null)[];
  readonly events: string[][];
  journal: { readonly upTo: number; readonly row: string; readonly bodies: string[] }[];
}

/** A simple model of a partition in memory, run beside the real one. */
class Model {
  readonly partitions: ModelPartition[];
  readonly #driver: StoreDriver;
  readonly #actors: readonly Address[];
  #leases: Lease<Partition>[] = [];
  #ids = new Map<string, string>();
  #row = 0;

  constructor(driver: StoreDriver, names: readonly Partition[]) {
    this.#driver = driver;
    this.#actors = [driver.address(), driver.address()];
    this.partitions = names.map((name) => ({
      name,
      entries: [],
      cursor: 0,
      replies: new Map(),
      records: [null, null],
      events: [[], []],
      journal: [],
    }));
  }

  async start(): Promise<void> {
    this.#leases = await Promise.all(this.partitions.map((partition) => this.#driver.lease(partition.name)));
  }

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case 'append':
        return this.#append(step.on, step.actor, step.id);
      case 'commit':
        return this.#commit(step.on, step.take, step.emit, step.send);
      case 'stale':
        return this.#stale(step.on, step.wrong);
      case 'lease':
        this.#leases[step.on] = await this.#driver.lease(
          at(this.partitions, step.on).name,
          at(this.#leases, step.on).node,
        );
        return;
      case 'takeOver':
        return this.#takeOver(step.on, step.known);
      case 'trim':
        return this.#trim(step.on, step.near);
      case 'forget':
        return this.#forget(step.on, step.actor);
      case 'reopen':
        return this.#driver.reopen();
    }
  }

  #waiting(partition: ModelPartition, actor: number): number {
    return partition.entries.slice(partition.cursor).filter((entry) => entry.client === actor).length;
  }

  async #append(n: number, actor: number, idNumber: number): Promise<void> {
    const partition = at(this.partitions, n);
    const key = `${n}:${idNumber}`;
    const id = this.#ids.get(key) ?? randomUUID();
    this.#ids.set(key, id);
    const body = `client ${id}`;
    const delivery = { id, to: at(this.#actors, actor), body };
    const outcome = at(await this.#driver.store.append(partition.name, [delivery], BOUND), 0);
    const depth = this.#waiting(partition, actor);
    if (partition.entries.some((entry) => entry.id === id)) {
      assert.deepEqual(outcome, { kind: 'duplicate', reply: partition.replies.get(id) ?? null });
    } else if (depth >= BOUND) {
      assert.deepEqual(outcome, { kind: 'full', depth });
    } else {
      partition.entries.push({ body, client: actor, id });
      assert.deepEqual(outcome, { kind: 'accepted', seq: partition.entries.length });
    }
  }

  async #commit(n: number, take: number, emit: number, send: number): Promise<void> {
    const partition = at(this.partitions, n);
    const taken = partition.entries.slice(partition.cursor, partition.cursor + take);
    const after = partition.cursor;
    const upTo = after + taken.length;
    const row = `row ${++this.#row}`;
    const self = this.#row % 2;
    const address = at(this.#actors, self);
    const events = at(partition.events, self);
    const emitted = Array.from({ length: emit }, (_, k) => `${row} event ${k}`);
    const sends = Array.from({ length: send }, (_, k) => ({ to: k % 2, body: `${row} send ${k}` }));
    const answered = taken.filter((entry) => entry.client !== null);
    const outcome = await this.#driver.mustCommit(
      at(this.#leases, n),
      after,
      upTo,
      {
        records: [{ address, record: row }],
        journal: taken.length > 0 ? row : null,
        events: emit > 0 ? [{ address, first: events.length + 1, data: emitted }] : [],
        sends: sends.map(({ to, body }) => ({
          partition: at(this.partitions, to).name,
          delivery: { id: randomUUID(), to: address, body },
        })),
        replies: answered.map(({ id }) => ({ session: 's', messageId: id, body: `${row} to ${id}` })),
        handled: [0, 1].map((actor) => ({
          address: at(this.#actors, actor),
          count: answered.filter((entry) => entry.client === actor).length,
        })),
      },
      100,
    );
    if (outcome.owing.length > 0) await this.#driver.flush(at(this.#leases, n));
    for (const entry of answered) partition.replies.set(entry.id, `${row} to ${entry.id}`);
    for (const { to, body } of sends) at(this.partitions, to).entries.push({ body, client: null, id: '' });
    partition.records[self] = row;
    events.push(...emitted);
    partition.cursor = upTo;
    if (taken.length > 0) partition.journal.push({ upTo, row, bodies: taken.map((entry) => entry.body) });
    const local = partition.entries.slice(upTo).map((entry) => entry.body);
    assert.deepEqual(
      outcome.next.map((entry) => entry.body),
      local,
    );
  }

  async #stale(n: number, wrong: 'epoch' | 'grant' | 'cursor'): Promise<void> {
    const partition = at(this.partitions, n);
    const held = at(this.#leases, n);
    const lease = {
      ...held,
      epoch: wrong === 'epoch' ? held.epoch - 1 : held.epoch,
      grant: wrong === 'grant' ? randomUUID() : held.grant,
    };
    const after = wrong === 'cursor' ? partition.cursor + 1 : partition.cursor;
    const address = at(this.#actors, 0);
    const outcome = await this.#driver.commit(lease, after, after, {
      records: [{ address, record: 'stale' }],
      events: [{ address, first: at(partition.events, 0).length + 1, data: ['stale'] }],
      sends: [{ partition: partition.name, delivery: this.#driver.delivery(address, 'stale') }],
    });
    assert.deepEqual(outcome, { kind: 'fenced' });
  }

  /** Another node acquires: granted over the present grant, refused over any other. */
  async #takeOver(n: number, known: boolean): Promise<void> {
    const held = at(this.#leases, n);
    const over = known ? held.grant : randomUUID();
    const node = held.node === 'node-a' ? 'node-b' : 'node-a';
    const outcome = await this.#driver.store.acquire(held.log, node, randomUUID(), 60_000, over);
    if (outcome.kind === 'held') {
      assert.deepEqual([known, outcome.by, outcome.grant], [false, held.node, held.grant]);
      return;
    }
    assert.ok(known && outcome.lease.epoch > held.epoch, 'only the grant in force is taken over, by a higher epoch');
    assert.equal(outcome.cursor, at(this.partitions, n).cursor);
    this.#leases[n] = outcome.lease;
  }

  async #trim(n: number, near: number): Promise<void> {
    const partition = at(this.partitions, n);
    // Like the projector: after a complete row.
    const upTo = partition.journal.findLast((row) => row.upTo <= near)?.upTo;
    if (upTo === undefined) return;
    await this.#driver.store.trimJournal(at(this.#leases, n), upTo);
    partition.journal = partition.journal.filter((row) => row.upTo > upTo);
  }

  async #forget(n: number, actor: number): Promise<void> {
    const partition = at(this.partitions, n);
    assert.equal(
      await this.#driver.store.forget(at(this.#leases, n), partition.cursor, [at(this.#actors, actor)]),
      true,
    );
    partition.records[actor] = null;
    at(partition.events, actor).length = 0;
  }

  async check(): Promise<void> {
    const { store } = this.#driver;
    for (const [n, partition] of this.partitions.entries()) {
      const lease = at(this.#leases, n);
      const { name, cursor } = partition;
      const backlog = await store.backlog(name);
      assert.deepEqual([backlog.cursor, backlog.tail], [cursor, partition.entries.length]);
      const waiting = await this.#driver.entries(lease, cursor);
      assert.deepEqual(
        waiting.map((entry) => [entry.seq, entry.body]),
        partition.entries.slice(cursor).map((entry, k) => [cursor + 1 + k, entry.body]),
      );
      assert.deepEqual(await store.load(name, this.#actors), partition.records);
      for (const [k, address] of this.#actors.entries()) {
        assert.equal(await store.depth(name, address), this.#waiting(partition, k));
        assert.deepEqual(
          await store.readEvents(name, address, 0, 1_000),
          at(partition.events, k).map((data, index) => ({ seq: index + 1, data })),
        );
      }
      const journal = await store.readJournal(name, 0, 1_000);
      assert.deepEqual(
        journal.map(({ upTo, row, entries }) => ({ upTo, row, bodies: entries.map((entry) => entry.body) })),
        partition.journal,
      );
    }
  }
}

export function modelContract(make: MakeStore): void {
  section('any sequence of operations', make, (promise) => {
    promise('agrees with a model held in memory', async (driver) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          const model = new Model(driver, await driver.partitions(2));
          await model.start();
          for (const each of steps) await model.run(each);
          await model.check();
        }),
        { numRuns: sample({ normal: 5, long: 40 }), endOnFailure: false },
      );
    });
  });
}

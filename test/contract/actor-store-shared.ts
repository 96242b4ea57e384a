import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ActorStore, CommitOutcome, Delivery, Lease, PartitionChanges } from '../../runtime/actor-store.ts';
import type { Address, Partition, SharedLog } from '../../runtime/address.ts';
import type { AdoptOutcome, SharedLogs } from '../../runtime/shared-logs.ts';
import { seeded } from '../support/faulty-store.ts';
import { at, commitOf, eventually, type MakeStore, type Rig, section } from './actor-store-rig.ts';

const TTL_MS = 60_000;
const BOUND = 10_000;
const NO_CHANGES: PartitionChanges = {
  ...{ records: [], events: [], sends: [], timersSet: [], timersCleared: [] },
  ...{ effectsOpened: [], effectsCancelled: [] },
};

const logsOf = (store: ActorStore): SharedLogs => store.sharedLogs ?? assert.fail('the store has no shared logs');
const fresh = (to: Address, body: string): Delivery => ({ id: randomUUID(), to, body, fresh: true });

/** Partitions that share a log of node-a. */
class Scene {
  readonly rig: Rig;
  readonly partitions: readonly Partition[];
  readonly homes: readonly Lease<Partition>[];
  readonly lease: Lease<SharedLog>;
  cursor: number;

  constructor(rig: Rig, homes: readonly Lease<Partition>[], lease: Lease<SharedLog>, cursor: number) {
    this.rig = rig;
    this.homes = homes;
    this.partitions = homes.map(({ log }) => log);
    this.lease = lease;
    this.cursor = cursor;
  }

  static async make(rig: Rig, count = 3): Promise<Scene> {
    const homes: Lease<Partition>[] = [];
    for (const partition of await rig.partitions(count)) homes.push(await rig.lease(partition, 'node-a'));
    const scene = await Scene.over(rig, homes);
    assert.deepEqual(
      await logsOf(rig.store).join(scene.lease, homes),
      homes.map(() => 'joined'),
    );
    return scene;
  }

  /** A log that nothing shares yet. */
  static async over(rig: Rig, homes: readonly Lease<Partition>[]): Promise<Scene> {
    const log: SharedLog = `log-${randomUUID()}`;
    const partitions = homes.map((home) => home.log);
    const made = await logsOf(rig.store).make(log, 'node-a', randomUUID(), TTL_MS, partitions);
    return made === null ? assert.fail('the log was not made') : new Scene(rig, homes, made.lease, made.cursor);
  }

  get logs(): SharedLogs {
    return logsOf(this.rig.store);
  }

  async bodies(lease: Lease = this.lease, after = this.cursor): Promise<string[]> {
    return (await this.rig.entries(lease, after)).map(({ partition, body }) => `${this.#nth(partition)}:${body}`);
  }

  #nth(partition: Partition | undefined): number {
    return partition === undefined ? -1 : this.partitions.indexOf(partition);
  }

  /** Handles what waits. */
  async commit(changes: readonly ({ readonly partition: Partition } & Partial<PartitionChanges>)[], upTo?: number) {
    const entries = await this.rig.entries(this.lease, this.cursor);
    const last = upTo ?? entries.at(-1)?.seq ?? this.cursor;
    const partitions = changes.map((one) => ({ ...NO_CHANGES, ...one }));
    const commit = { ...commitOf(this.lease, this.cursor, last, { journal: 'row' }), partitions };
    const outcome = await this.rig.store.commit(commit, 100);
    if (outcome.kind === 'committed') this.cursor = last;
    return outcome;
  }
}

const kindOf = ({ kind }: CommitOutcome): string => kind;

function granted(outcome: AdoptOutcome): Extract<AdoptOutcome, { kind: 'granted' }> {
  return outcome.kind === 'granted' ? outcome : assert.fail(`the log was not had: ${outcome.kind}`);
}

/** Logs that the partitions of a node share; for adapters that have them. */
export function sharedLogs(make: MakeStore): void {
  section('logs that partitions share', make, (promise) => {
    promise(
      'whatever is sent to a partition is in the log that it shares, in order, with its partition',
      async (rig) => {
        const scene = await Scene.make(rig);
        const [one, two] = [at(scene.partitions, 0), at(scene.partitions, 1)];
        const to = rig.address();
        await rig.store.append(one, [fresh(to, 'fresh')], BOUND);
        await rig.append(two, to, 'named');
        const [home] = scene.homes;
        assert.ok(home);
        const source = await rig.lease(await rig.partition());
        await rig.mustCommit(source, 0, 0, { sends: [{ partition: two, delivery: rig.delivery(to, 'sent') }] });
        await rig.flush(source);
        const id = randomUUID();
        await scene.commit(
          [
            {
              partition: one,
              timersSet: [{ id: 'tick', afterMs: 0, delivery: rig.delivery(to, 'due') }],
              effectsOpened: [{ id, queue: 'q', address: to, mode: 'once', body: 'b' }],
              sends: [{ partition: two, delivery: rig.delivery(to, 'to a neighbour') }],
            },
          ],
          scene.cursor,
        );
        await eventually('the timer is due', async () => (await rig.fireTimers(home)) === null);
        const claim = await rig.store.claimEffect(one, id, 'node-a/1', TTL_MS);
        assert.equal(claim.kind, 'claimed');
        assert.ok(await rig.store.settleEffect(one, id, 1, rig.delivery(to, 'result')));
        assert.deepEqual(await scene.bodies(), [
          '0:fresh',
          '1:named',
          '1:sent',
          '1:to a neighbour',
          '0:due',
          '0:result',
        ]);
        assert.deepEqual(await rig.store.backlog(one), await rig.store.backlog(scene.lease.log));
        assert.equal(await rig.store.depth(two, to), 2, 'client messages of the actor');
      },
    );

    promise('one commit changes several partitions, or none', async (rig) => {
      const scene = await Scene.make(rig);
      const [one, two] = [at(scene.partitions, 0), at(scene.partitions, 1)];
      const [to, other] = [rig.address(), rig.address()];
      const outcomes = await rig.store.append(one, [fresh(to, 'a')], BOUND);
      const session = randomUUID();
      const heard: string[] = [];
      const stop = rig.store.onReply(session, (_, body) => heard.push(body));
      const [entry] = await rig.entries(scene.lease, scene.cursor);
      const [outcome] = outcomes;
      assert.ok(outcome?.kind === 'accepted' && entry !== undefined);
      assert.deepEqual([outcome.seq, outcome.log], [entry.seq, scene.lease.log]);
      const messageId = randomUUID();
      const partitions = [
        { ...NO_CHANGES, partition: one, records: [{ address: to, record: 'A' }] },
        {
          ...NO_CHANGES,
          partition: two,
          records: [{ address: other, record: 'B' }],
          events: [{ address: other, first: 1, data: ['e'] }],
        },
      ];
      const replies = [{ session, messageId, body: 'answer', fresh: true, partition: one }];
      const commit = { ...commitOf(scene.lease, scene.cursor, entry.seq, { journal: 'row', replies }), partitions };
      const wrong = {
        ...commit,
        partitions: partitions.map((part) => ({ ...part, events: [{ address: to, first: 7, data: ['x'] }] })),
      };
      assert.equal(kindOf(await rig.store.commit(wrong, 0)), 'fenced');
      assert.deepEqual(await rig.store.load(one, [to]), [null]);
      assert.equal(kindOf(await rig.store.commit(commit, 0)), 'committed');
      assert.equal(kindOf(await rig.store.commit(commit, 0)), 'committed', 'the same again is answered the same');
      assert.deepEqual([await rig.store.load(one, [to]), await rig.store.load(two, [other])], [['A'], ['B']]);
      assert.deepEqual(await rig.store.readEvents(two, other, 0, 10), [{ seq: 1, data: 'e' }]);
      await eventually('the reply is published', () => heard.length > 0);
      stop();
      assert.equal(await rig.store.recallReply(one, messageId, outcome), 'answer');
      const rows = await rig.store.readJournal(scene.lease.log, 0, 10);
      assert.deepEqual(
        rows.map(({ row, entries }) => [row, entries.map(({ partition, body }) => [partition, body])]),
        [['row', [[one, 'a']]]],
      );
    });

    promise(
      'a partition joins only while nothing waits in it, with its lease, and with smaller numbers',
      async (rig) => {
        const [busy, lost, ahead] = await rig.partitions(3);
        assert.ok(busy && lost && ahead);
        const homes = [await rig.lease(busy), await rig.lease(lost), await rig.lease(ahead)];
        const scene = await Scene.over(rig, homes);
        const far = await Scene.make(rig, 1);
        await rig.append(busy, rig.address(), 'waits');
        await rig.lease(lost, 'node-a');
        assert.deepEqual(await scene.logs.join(scene.lease, homes), ['busy', 'lost', 'joined']);
        const closed = await far.logs.close(far.lease);
        const [home] = far.homes;
        assert.ok(closed !== null && home !== undefined);
        assert.deepEqual(await scene.logs.join(scene.lease, [home]), ['ahead']);
        assert.equal(await scene.logs.join({ ...scene.lease, grant: randomUUID() }, homes), null);
      },
    );

    promise('while a partition shares a log nothing is committed in its own', async (rig) => {
      const scene = await Scene.make(rig);
      for (const home of scene.homes) {
        const cursor = await rig.cursor(home.log);
        assert.equal(
          kindOf(await rig.commit(home, 0, 0, { records: [{ address: rig.address(), record: 'x' }] })),
          'fenced',
        );
        assert.equal(await rig.store.forget(home, cursor, [rig.address()]), false);
      }
    });

    promise('a closed log takes nothing more; what comes goes to the partition, behind it', async (rig) => {
      const scene = await Scene.make(rig);
      const [one] = scene.partitions;
      assert.ok(one);
      const to = rig.address();
      const other = await rig.another();
      for (const store of [rig.store, other]) await store.append(one, [fresh(to, 'before')], BOUND);
      const closed = await scene.logs.close(scene.lease);
      assert.ok(closed !== null);
      for (const store of [rig.store, other]) await store.append(one, [fresh(to, 'after')], BOUND);
      await rig.append(one, to, 'named');
      assert.deepEqual(await scene.bodies(), ['0:before', '0:before']);
      const own = await rig.entries(at(scene.homes, 0), closed.cursor);
      assert.deepEqual(
        own.map(({ body }) => body),
        ['after', 'after', 'named'],
      );
      assert.ok(
        own.every(({ seq }) => seq > closed.tail),
        'numbers grow',
      );
      assert.equal((await rig.store.backlog(one)).cursor, closed.cursor);
      assert.deepEqual(await scene.logs.close(scene.lease), closed, 'twice is once');
    });

    promise('a partition is had by nobody before the log that it shared is read to its end', async (rig) => {
      const scene = await Scene.make(rig);
      const one = at(scene.partitions, 0);
      await rig.store.append(one, [fresh(rig.address(), 'waits')], BOUND);
      const asked = () => rig.store.acquire(one, 'node-b', randomUUID(), TTL_MS, at(scene.homes, 0).grant);
      const held = await asked();
      assert.ok(held.kind === 'held');
      assert.deepEqual([held.by, held.grant, held.behind], ['node-a', scene.lease.grant, scene.lease.log]);
      assert.equal((await scene.logs.adopt(scene.lease.log, 'node-b', randomUUID(), TTL_MS)).kind, 'held');
      const adopted = granted(await scene.logs.adopt(scene.lease.log, 'node-b', randomUUID(), TTL_MS, held.grant));
      assert.deepEqual([...adopted.partitions].sort(), [...scene.partitions].sort());
      assert.equal(kindOf(await scene.commit([])), 'fenced', 'the earlier holder');
      assert.equal(await scene.logs.close(scene.lease), null);
      const still = await asked();
      assert.deepEqual([still.kind, still.kind === 'held' && still.by], ['held', 'node-b']);
      const reader = new Scene(rig, scene.homes, adopted.lease, adopted.cursor);
      assert.deepEqual(await reader.bodies(), ['0:waits']);
      assert.equal(await scene.logs.remove(adopted.lease), false, 'entries wait');
      assert.equal(kindOf(await reader.commit([])), 'committed');
      assert.equal(reader.cursor, adopted.tail);
      const had = await asked();
      assert.ok(had.kind === 'granted');
      assert.ok(had.cursor > adopted.tail);
      assert.equal(await scene.logs.remove(adopted.lease), false, 'its journal is not in documents');
      await rig.store.trimJournal(adopted.lease, reader.cursor);
      assert.ok((await scene.logs.list()).includes(scene.lease.log));
      assert.ok(await scene.logs.remove(adopted.lease));
      assert.ok(!(await scene.logs.list()).includes(scene.lease.log));
      assert.equal((await scene.logs.adopt(scene.lease.log, 'node-c', randomUUID(), TTL_MS)).kind, 'gone');
    });

    promise('what a partition owes comes before what it sends within the log', async (rig) => {
      const [one, two] = await rig.partitions(2);
      assert.ok(one && two);
      const homes = [await rig.lease(one, 'node-a'), await rig.lease(two, 'node-a')] as const;
      const sends = (body: string) => [{ partition: two, delivery: rig.delivery(rig.address(), body) }];
      await rig.mustCommit(homes[0], 0, 0, { sends: sends('owed') });
      const scene = await Scene.over(rig, homes);
      assert.deepEqual(await scene.logs.join(scene.lease, homes), ['joined', 'joined']);
      const outcome = await scene.commit([{ partition: one, sends: sends('sent') }]);
      assert.deepEqual(outcome.kind === 'committed' && outcome.owing, [one]);
      await rig.flush(homes[0]);
      assert.deepEqual(await scene.bodies(), ['1:owed', '1:sent']);
      await scene.commit([{ partition: one, sends: sends('at once') }]);
      assert.deepEqual(await scene.bodies(), ['1:at once']);
    });

    promise('a log whose making was given up is never made', async (rig) => {
      const [partition] = await rig.partitions(1);
      assert.ok(partition);
      const log: SharedLog = `log-${randomUUID()}`;
      const grant = randomUUID();
      assert.ok(await logsOf(rig.store).close({ log, node: 'node-a', epoch: 1, grant }));
      assert.equal(await logsOf(rig.store).make(log, 'node-a', grant, TTL_MS, [partition]), null);
    });

    promise(
      'an ended actor whose partition went on goes only while its record is the one that was seen',
      async (rig) => {
        const scene = await Scene.make(rig);
        const one = at(scene.partitions, 0);
        const [same, changed] = [rig.address(), rig.address()];
        const records = [same, changed].map((address) => ({ address, record: 'ended' }));
        await scene.commit([{ partition: one, records }]);
        await scene.commit([{ partition: one, records: [{ address: changed, record: 'heard something' }] }]);
        const seen = new Map([same, changed].map((address) => [address, 'ended']));
        assert.deepEqual(await scene.logs.forgetEnded(one, seen), [same]);
        assert.deepEqual(await rig.store.load(one, [same, changed]), [null, 'heard something']);
      },
    );

    promise('a client message is held back, and counts, in its partition wherever the log is', async (rig) => {
      const scene = await Scene.make(rig);
      const one = at(scene.partitions, 0);
      const to = rig.address();
      await rig.store.append(one, [fresh(to, 'a')], 2);
      const [entry] = await rig.entries(scene.lease, scene.cursor);
      assert.ok(entry);
      const held = [{ address: to, count: 1, partition: one }];
      const partitions = [{ ...NO_CHANGES, partition: one }];
      const commit = { ...commitOf(scene.lease, scene.cursor, entry.seq, { held }), partitions };
      assert.equal(kindOf(await rig.store.commit(commit, 0)), 'committed');
      const kinds = async () => (await rig.store.append(one, [fresh(to, 'b')], 2)).map(({ kind }) => kind);
      assert.deepEqual(await kinds(), ['accepted']);
      assert.deepEqual(await kinds(), ['full']);
      await scene.logs.close(scene.lease);
      assert.deepEqual(await kinds(), ['accepted'], 'one is held back, one waits in the closed log');
      assert.deepEqual(await kinds(), ['full']);
    });

    promise(
      'histories of hand-overs and adoptions with calls twice and late: each message once, in order',
      async (rig) => {
        const calm = rig.disturb();
        try {
          for (let seed = 1; seed <= HISTORIES; seed += 1) await history(rig, seed);
        } finally {
          await calm();
        }
      },
    );
  });
}

/** `SVC_SHARED_HISTORIES` for more. */
const HISTORIES = Number(process.env.SVC_SHARED_HISTORIES ?? 20);

/** Senders append one behind the other while the partitions change hands between nodes, die and are adopted. */
async function history(rig: Rig, seed: number): Promise<void> {
  const random = seeded(seed);
  const pick = (below: number): number => Math.floor(random() * below);
  const partitions = await rig.partitions(3);
  const handled = new Map<string, number[]>();
  const nodes = ['node-a', 'node-b'].map((name) => new Reader(rig, `${name}-${seed}`, partitions, handled));
  const senders = await Promise.all(
    partitions.flatMap((partition, n) =>
      [0, 1].map(async (m) => ({ partition, name: `${n}.${m}`, to: rig.address(), store: await rig.another() })),
    ),
  );
  let over = false;
  const sent = new Map<string, number>();
  const sending = senders.map(async ({ partition, name, to, store }) => {
    for (let n = 1; !over; n += 1) {
      const body = `${name} ${n}`;
      const delivery = n % 3 === 0 ? { id: randomUUID(), to, body } : fresh(to, body);
      const [outcome] = await store.append(partition, [delivery], BOUND);
      assert.equal(outcome?.kind, 'accepted', body);
      sent.set(name, n);
    }
  });
  for (let step = 0; step < 30; step += 1) {
    const node = at(nodes, pick(2));
    const dice = random();
    if (dice < 0.3) await node.take(pick(3));
    else if (dice < 0.5) await node.share();
    else if (dice < 0.6) await node.handOver();
    else if (dice < 0.68) node.die();
    else await node.read();
  }
  over = true;
  await Promise.all(sending);
  const [last] = nodes;
  assert.ok(last);
  for (const node of nodes) node.die();
  await eventually(`history ${seed}: everything is read`, async () => {
    for (const n of partitions.keys()) await last.take(n);
    await last.read();
    return [...sent].every(([name, count]) => handled.get(name)?.length === count);
  });
  for (const [name, numbers] of handled) {
    const inOrder = numbers.map((_, index) => index + 1);
    assert.deepEqual(numbers, inOrder, `history ${seed}: sender ${name}`);
  }
  for (const { store } of senders) if (store !== rig.store) await store.close();
}

/** A node at the port: holds, shares, reads and commits. */
class Reader {
  readonly #rig: Rig;
  readonly #name: string;
  readonly #partitions: readonly Partition[];
  readonly #handled: Map<string, number[]>;
  readonly #held = new Map<string, { readonly lease: Lease; cursor: number }>();
  #shared: Lease<SharedLog> | null = null;
  readonly #joined = new Map<Partition, Lease<Partition>>();

  constructor(rig: Rig, name: string, partitions: readonly Partition[], handled: Map<string, number[]>) {
    this.#rig = rig;
    this.#name = name;
    this.#partitions = partitions;
    this.#handled = handled;
  }

  /** Takes a partition that nobody holds, after the log that it is behind. Every lease has run out at once. */
  async take(n: number): Promise<void> {
    const partition = at(this.#partitions, n);
    if (this.#held.has(partition) || this.#joined.has(partition)) return;
    const { store } = this.#rig;
    const first = await store.acquire(partition, this.#name, randomUUID(), TTL_MS);
    const got =
      first.kind === 'held' && first.behind === undefined && DEAD.has(first.grant)
        ? await store.acquire(partition, this.#name, randomUUID(), TTL_MS, first.grant)
        : first;
    if (got.kind === 'granted') this.#held.set(partition, { lease: got.lease, cursor: got.cursor });
    else if (got.behind !== undefined && !this.#held.has(got.behind)) {
      const over = DEAD.has(got.grant) ? got.grant : undefined;
      const outcome = await logsOf(store).adopt(got.behind, this.#name, randomUUID(), TTL_MS, over);
      if (outcome.kind === 'granted') this.#held.set(got.behind, { lease: outcome.lease, cursor: outcome.cursor });
    }
  }

  async share(): Promise<void> {
    const homes = [...this.#held.values()].flatMap(({ lease }) => (isHome(lease) ? [lease] : []));
    if (homes.length === 0) return;
    const logs = logsOf(this.#rig.store);
    if (this.#shared === null) {
      const scene = await Scene.over(this.#rig, homes);
      // Made for `node-a`; its lease is this reader's all the same.
      this.#shared = scene.lease;
      this.#held.set(scene.lease.log, { lease: scene.lease, cursor: scene.cursor });
    }
    const outcomes = (await logs.join(this.#shared, homes)) ?? [];
    for (const [index, home] of homes.entries()) {
      if (outcomes[index] !== 'joined') continue;
      this.#held.delete(home.log);
      this.#joined.set(home.log, home);
    }
    if (outcomes.includes('ahead')) await this.#disband();
  }

  async handOver(): Promise<void> {
    await this.#disband();
    for (const [log, { lease }] of [...this.#held]) {
      if (!isHome(lease)) continue;
      this.#held.delete(log);
      await this.#rig.store.release(lease);
    }
  }

  async #disband(): Promise<void> {
    const shared = this.#shared;
    if (shared === null) return;
    const closed = await logsOf(this.#rig.store).close(shared);
    this.#shared = null;
    const homes = [...this.#joined.values()];
    this.#joined.clear();
    if (closed === null) return;
    while ((this.#held.get(shared.log)?.cursor ?? closed.tail) < closed.tail) await this.#readOne(shared.log);
    for (const home of homes) this.#held.set(home.log, { lease: home, cursor: closed.cursor });
  }

  /** What it holds is anybody's from now on, and it says nothing. */
  die(): void {
    for (const { lease } of this.#held.values()) DEAD.add(lease.grant);
    for (const { grant } of this.#joined.values()) DEAD.add(grant);
    this.#held.clear();
    this.#joined.clear();
    this.#shared = null;
  }

  async read(): Promise<void> {
    for (const log of [...this.#held.keys()]) await this.#readOne(log);
  }

  async #readOne(log: string): Promise<void> {
    const held = this.#held.get(log);
    if (held === undefined) return;
    const { store } = this.#rig;
    const [entries] = await store.poll([{ lease: held.lease, after: held.cursor }], 7);
    const last = entries?.at(-1);
    if (entries == null) this.#held.delete(log);
    if (entries == null || last === undefined) return;
    const outcome = await store.commit(commitOf(held.lease, held.cursor, last.seq, { journal: 'row' }), 0);
    if (outcome.kind !== 'committed') {
      this.#held.delete(log);
      return;
    }
    held.cursor = last.seq;
    for (const { body } of entries) {
      const [name = '', number] = body.split(' ');
      this.#handled.set(name, [...(this.#handled.get(name) ?? []), Number(number)]);
    }
  }
}

/** Grants of nodes that died. */
const DEAD = new Set<string>();

const isHome = (lease: Lease): lease is Lease<Partition> => lease.log.includes(':');

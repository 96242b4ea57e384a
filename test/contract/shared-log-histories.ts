import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Lease } from '../../runtime/actor-store.ts';
import type { Partition, SharedLog } from '../../runtime/address.ts';
import type { MailboxEntry } from '../../runtime/message.ts';
import { seeded } from '../support/faulty-store.ts';
import { BOUND, fresh, logsOf, NO_CHANGES, SharedLogDriver, TTL_MS } from './shared-log-driver.ts';
import { at, commitOf, eventually, type StoreDriver } from './store-under-test.ts';

/** Senders append one behind the other while the partitions change hands between nodes, die and are adopted. */
export async function sharedLogHistory(
  driver: StoreDriver,
  seed: number,
  done: { joins: number; resumed: number },
): Promise<void> {
  const random = seeded(seed);
  const pick = (below: number): number => Math.floor(random() * below);
  const partitions = await driver.partitionsOfOneTag(3);
  const handled = new Map<string, number[]>();
  const nodes: Reader[] = [];
  for (const name of ['node-a', 'node-b'])
    nodes.push(new Reader(driver, `${name}-${seed}`, { nodes, partitions, handled, random }));
  const senders = await Promise.all(
    partitions.flatMap((partition, n) =>
      [0, 1].map(async (m) => ({ partition, name: `${n}.${m}`, to: driver.address(), store: await driver.another() })),
    ),
  );
  const sent = new Map<string, number>();
  const send = async ({ partition, name, to, store }: (typeof senders)[number], count: number): Promise<void> => {
    for (let more = count; more > 0; more -= 1) {
      const n = (sent.get(name) ?? 0) + 1;
      const body = `${name} ${n}`;
      const delivery = n % 3 === 0 ? { id: randomUUID(), to, body } : fresh(to, body);
      const [outcome] = await store.append(partition, [delivery], BOUND);
      assert.equal(outcome?.kind, 'accepted', body);
      sent.set(name, n);
    }
  };
  for (let step = 0; step < 30; step += 1) {
    // So few that a node can read all of them: only then its partitions share a log.
    const sending = senders.map((sender) => send(sender, random() < 0.4 ? 1 + pick(3) : 0));
    const node = at(nodes, pick(2));
    const dice = random();
    if (dice < 0.3) await node.take(pick(3));
    else if (dice < 0.55) await node.share();
    else if (dice < 0.63) await node.handOver();
    else if (dice < 0.7) node.die();
    else await node.read();
    await Promise.all(sending);
  }
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
  for (const { store } of senders) if (store !== driver.store) await store.close();
  for (const { joins, resumed } of nodes) {
    done.joins += joins;
    done.resumed += resumed;
  }
}

interface HistoryParts {
  /** All nodes of the history. */
  readonly nodes: readonly Reader[];
  readonly partitions: readonly Partition[];
  /** Numbers of the messages that were handled, of each sender. */
  readonly handled: Map<string, number[]>;
  readonly random: () => number;
}

/** A node at the port: holds, shares, reads and commits. */
class Reader {
  readonly #driver: StoreDriver;
  readonly #name: string;
  readonly #nodes: readonly Reader[];
  readonly #partitions: readonly Partition[];
  readonly #handled: Map<string, number[]>;
  readonly #held = new Map<string, { readonly lease: Lease; cursor: number }>();
  #shared: Lease<SharedLog> | null = null;
  /** Partitions that came to share a log, messages that were postponed and are handled. */
  joins = 0;
  resumed = 0;
  readonly #joined = new Map<Partition, Lease<Partition>>();
  readonly #random: () => number;

  constructor(driver: StoreDriver, name: string, { nodes, partitions, handled, random }: HistoryParts) {
    this.#driver = driver;
    this.#name = name;
    this.#nodes = nodes;
    this.#partitions = partitions;
    this.#handled = handled;
    this.#random = random;
  }

  /** Takes a partition that no node works with, after the log that it is behind. */
  async take(n: number): Promise<void> {
    const partition = at(this.#partitions, n);
    if (this.#held.has(partition) || this.#joined.has(partition)) return;
    const { store } = this.#driver;
    const first = await store.acquire(partition, this.#name, randomUUID(), TTL_MS);
    const got =
      first.kind === 'held' && first.behind === undefined && !this.#isHeld(first.grant)
        ? await store.acquire(partition, this.#name, randomUUID(), TTL_MS, first.grant)
        : first;
    if (got.kind === 'granted') {
      this.#held.set(partition, { lease: got.lease, cursor: got.cursor });
      if (got.hasPostponed === true) await this.#resume(partition, partition, () => true);
    } else if (got.behind !== undefined && !this.#held.has(got.behind)) {
      const over = !this.#isHeld(got.grant) ? got.grant : undefined;
      const outcome = await logsOf(store).adopt(got.behind, this.#name, randomUUID(), TTL_MS, over);
      if (outcome.kind === 'granted') this.#held.set(got.behind, { lease: outcome.lease, cursor: outcome.cursor });
    }
  }

  /**
   * Whether a live node works with the grant. If none does, the node that had it died, or the store granted it to a late copy of a
   * refused call. No node renews such a lease, so it runs out.
   */
  #isHeld(grant: string): boolean {
    return this.#nodes.some((node) => node.#grants().includes(grant));
  }

  #grants(): string[] {
    const leases = [...this.#held.values()].map(({ lease }) => lease);
    return [...leases, ...this.#joined.values()].map(({ grant }) => grant);
  }

  async share(): Promise<void> {
    const homes = [...this.#held.values()].flatMap(({ lease }) => (isHome(lease) ? [lease] : []));
    if (homes.length === 0) return;
    const logs = logsOf(this.#driver.store);
    for (const { log } of homes) while (await this.#readOne(log));
    if (this.#shared === null) {
      const scene = await SharedLogDriver.over(this.#driver, homes);
      // Made for `node-a`; its lease is this reader's all the same.
      this.#shared = scene.lease;
      this.#held.set(scene.lease.log, { lease: scene.lease, cursor: scene.cursor });
    }
    const outcomes = (await logs.join(this.#shared, homes)) ?? [];
    for (const [index, home] of homes.entries()) {
      if (outcomes[index] !== 'joined') continue;
      this.joins += 1;
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
      await this.#driver.store.release(lease);
    }
  }

  async #disband(): Promise<void> {
    const shared = this.#shared;
    if (shared === null) return;
    const closed = await logsOf(this.#driver.store).close(shared);
    this.#shared = null;
    const homes = [...this.#joined.values()];
    this.#joined.clear();
    if (closed === null) return;
    while ((this.#held.get(shared.log)?.cursor ?? closed.tail) < closed.tail) await this.#readOne(shared.log);
    for (const home of homes) {
      this.#held.set(home.log, { lease: home, cursor: closed.cursor });
      await this.#resume(home.log, home.log, () => true);
    }
  }

  /** What it holds is anyone's from now on, and it says nothing. */
  die(): void {
    this.#held.clear();
    this.#joined.clear();
    this.#shared = null;
  }

  async read(): Promise<void> {
    for (const log of [...this.#held.keys()]) await this.#readOne(log);
  }

  /** True: there may be more. */
  async #readOne(log: string): Promise<boolean> {
    const held = this.#held.get(log);
    if (held === undefined) return false;
    const { store } = this.#driver;
    const [entries] = await store.poll([{ lease: held.lease, after: held.cursor }], 7);
    const last = entries?.at(-1);
    if (entries == null) this.#held.delete(log);
    if (entries == null || last === undefined) return false;
    const commit = commitOf(held.lease, held.cursor, last.seq, { journal: 'row' });
    const { now, partitions } = isHome(held.lease) ? { now: entries, partitions: [] } : await this.#postpone(entries);
    const changes = partitions.length === 0 ? {} : { partitions };
    if ((await store.commit({ ...commit, ...changes }, 0)).kind !== 'committed') {
      this.#held.delete(log);
      return false;
    }
    held.cursor = last.seq;
    for (const { body } of now) this.#heard(body);
    if (isHome(held.lease)) return true;
    for (const partition of this.#partitions) {
      const chances = new Map<string, boolean>();
      const isResumed = (name: string): boolean => {
        const chance = chances.get(name) ?? this.#random() < 0.3;
        chances.set(name, chance);
        return chance;
      };
      if (this.#joined.has(partition) && log === this.#shared?.log) await this.#resume(log, partition, isResumed);
    }
    return true;
  }

  #heard(body: string): void {
    const [name = '', number] = body.split(' ');
    this.#handled.set(name, [...(this.#handled.get(name) ?? []), Number(number)]);
  }

  /** Some senders at random, and those of whom messages are postponed already. */
  async #postpone(entries: readonly MailboxEntry[]) {
    const slow = new Set<string>();
    const logs = logsOf(this.#driver.store);
    const known = await Promise.all(this.#partitions.map((partition) => logs.postponed(partition, 0, BOUND)));
    for (const { body } of known.flat()) slow.add(senderOf(body));
    for (const { body } of entries) if (this.#random() < 0.1) slow.add(senderOf(body));
    const later = entries.filter(({ body }) => slow.has(senderOf(body)));
    const partitions = [...Map.groupBy(later, ({ partition }) => partition)].flatMap(([partition, some]) =>
      partition === undefined
        ? []
        : [{ ...NO_CHANGES, partition, postponed: some.map(({ seq, at: time, body }) => ({ seq, at: time, body })) }],
    );
    return { now: entries.filter((entry) => !later.includes(entry)), partitions };
  }

  /** Handles what is postponed, of those senders. */
  async #resume(log: string, partition: Partition, isResumed: (sender: string) => boolean): Promise<void> {
    const held = this.#held.get(log);
    const { store } = this.#driver;
    const found = await logsOf(store).postponed(partition, 0, BOUND);
    const some = found.filter(({ body }) => isResumed(senderOf(body)));
    if (held === undefined || some.length === 0) return;
    const changes = { resumed: some.map(({ seq }) => seq) };
    const commit = commitOf(held.lease, held.cursor, held.cursor, { journal: 'row', results: some.length });
    const outcome = await store.commit(
      isHome(held.lease)
        ? { ...commit, ...changes }
        : { ...commit, partitions: [{ ...NO_CHANGES, partition, ...changes }] },
      0,
    );
    if (outcome.kind === 'committed') for (const { body } of some) this.#heard(body);
    else this.#held.delete(log);
    if (outcome.kind === 'committed') this.resumed += some.length;
  }
}

const senderOf = (body: string): string => body.split(' ')[0] ?? '';

const isHome = (lease: Lease): lease is Lease<Partition> => lease.log.includes(':');

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ActorStore, Lease } from '../../runtime/actor-store.ts';
import { type Address, addressOf, type Partition, type SharedLog } from '../../runtime/address.ts';
import type { MailboxEntry } from '../../runtime/message.ts';
import { seeded } from '../support/faulty-store.ts';
import { BOUND, fresh, logsOf, NO_CHANGES, SharedLogDriver, TTL_MS } from './shared-log-driver.ts';
import { at, commitOf, eventually, type StoreDriver } from './store-under-test.ts';

/** A store that can lose what was written after a moment. */
interface Rollback {
  /** What the store has now is what it has after `goBack`. */
  mark(): Promise<void>;
  goBack(): Promise<void>;
}

interface Options {
  /** Counts what happened, over all histories. */
  readonly done: { joins: number; resumed: number };
  /** The store goes back once, from one random step to another. */
  readonly rollback?: Rollback;
  /** Ends all faults; late copies have arrived when it resolves. */
  readonly calm?: () => Promise<void>;
}

const STEPS = 30;

/**
 * Senders append one message after the other while the partitions move between nodes, nodes die and logs are adopted.
 * Each message that the store had to keep is handled once, those of a sender in order, and no log stays unread.
 */
export async function sharedLogHistory(driver: StoreDriver, seed: number, options: Options): Promise<void> {
  const { done, rollback, calm } = options;
  const random = seeded(seed);
  const pick = (below: number): number => Math.floor(random() * below);
  const partitions = await driver.partitionsOfOneTag(3);
  const nodes: Reader[] = [];
  for (const name of ['node-a', 'node-b'])
    nodes.push(new Reader(driver, `${name}-${seed}`, { nodes, partitions, random }));
  const senders = await sendersTo(driver, partitions, seed);
  const marked = rollback === undefined ? STEPS : pick(STEPS - 4);
  const back = marked + 1 + pick(STEPS - 1 - marked);
  let kept: number[] = [];
  for (let step = 0; step < STEPS; step += 1) {
    if (step === marked) {
      await rollback?.mark();
      kept = senders.map(({ sent }) => sent.length);
    }
    if (step === back) {
      await rollback?.goBack();
      for (const [n, sender] of senders.entries()) sender.lose(at(kept, n));
    }
    // So few that a node can read all of them: only then its partitions share a log.
    const sending = senders.map((sender) => sender.send(random() < 0.4 ? 1 + pick(3) : 0));
    await at(nodes, pick(2)).act(random(), pick(3));
    await Promise.all(sending);
  }
  for (const node of nodes) node.die();
  await calm?.();
  await everythingIsRead(`history ${seed}`, { driver, last: at(nodes, 0), partitions, senders });
  for (const sender of senders) await sender.close();
  for (const { joins, resumed } of nodes) {
    done.joins += joins;
    done.resumed += resumed;
  }
}

/** Two of each partition, each with a connection of its own. */
function sendersTo(driver: StoreDriver, partitions: readonly Partition[], seed: number): Promise<Sender[]> {
  return Promise.all(
    partitions.flatMap((partition, n) =>
      [0, 1].map(async (m) => new Sender(driver, await driver.another(), partition, `${seed}.${n}.${m}`)),
    ),
  );
}

/** One client, which sends numbered messages to one actor. */
class Sender {
  readonly name: string;
  /** Messages that the store has to keep. */
  sent: number[] = [];
  readonly #driver: StoreDriver;
  readonly #store: ActorStore;
  readonly #partition: Partition;
  readonly #to: Address;
  #last = 0;

  constructor(driver: StoreDriver, store: ActorStore, partition: Partition, name: string) {
    this.name = name;
    this.#driver = driver;
    this.#store = store;
    this.#partition = partition;
    this.#to = driver.address();
  }

  async send(count: number): Promise<void> {
    for (let more = count; more > 0; more -= 1) {
      const n = this.#last + 1;
      this.#last = n;
      const body = `${this.name} ${n}`;
      const delivery = n % 3 === 0 ? { id: randomUUID(), to: this.#to, body } : fresh(this.#to, body);
      const [outcome] = await this.#store.append(this.#partition, [delivery], BOUND);
      // Taken as a duplicate: the answer to the first call was lost.
      assert.ok(outcome?.kind === 'accepted' || outcome?.kind === 'duplicate', `${body}: ${outcome?.kind}`);
      this.sent.push(n);
    }
  }

  /** The store lost all but the first of them; a late copy of a call may bring some of these back. */
  lose(kept: number): void {
    this.sent = this.sent.slice(0, kept);
  }

  async close(): Promise<void> {
    if (this.#store !== this.#driver.store) await this.#store.close();
  }
}

interface Ending {
  readonly driver: StoreDriver;
  /** Takes all that is there. */
  readonly last: Reader;
  readonly partitions: readonly Partition[];
  readonly senders: readonly Sender[];
}

async function everythingIsRead(what: string, { driver, last, partitions, senders }: Ending): Promise<void> {
  let heard = new Map<string, number[]>();
  const heardOf = (name: string): readonly number[] => heard.get(name) ?? [];
  await eventually(`${what}: everything is read`, async () => {
    for (const n of partitions.keys()) await last.take(n);
    await last.takeLogs();
    await last.read();
    heard = await journalled(driver, partitions);
    const backlogs = await Promise.all(partitions.map((partition) => driver.store.backlog(partition)));
    if (backlogs.some(({ cursor, tail, oldestAt }) => cursor < tail || oldestAt !== null)) return false;
    return senders.every(({ name, sent }) => sent.every((number) => heardOf(name).includes(number)));
  }).catch((thrown: unknown) => {
    const lists = senders.map(({ name, sent }) => ({ name, sent, heard: heardOf(name) }));
    assert.fail(`${String(thrown)}: ${JSON.stringify(lists)}`);
  });
  for (const { name, sent } of senders) {
    const numbers = heardOf(name);
    assert.equal(new Set(numbers).size, numbers.length, `${what}: ${name} twice: ${numbers.join(' ')}`);
    const sure = numbers.filter((number) => sent.includes(number));
    assert.deepEqual(sure, sent, `${what}: sender ${name}`);
  }
}

/** The numbers of each sender that the store has as handled, in the order of their positions. */
async function journalled(driver: StoreDriver, partitions: readonly Partition[]): Promise<Map<string, number[]>> {
  const logs = [...partitions, ...(await logsOf(driver.store).list())];
  const rows = (await Promise.all(logs.map((log) => driver.store.readJournal(log, 0, BOUND)))).flat();
  const heard = new Map<string, number[]>();
  for (const { row } of rows.sort((one, other) => one.upTo - other.upTo)) {
    for (const body of row.split('\n').filter((line) => line !== '')) {
      const [name = '', number] = body.split(' ');
      heard.set(name, [...(heard.get(name) ?? []), Number(number)]);
    }
  }
  return heard;
}

interface HistoryParts {
  /** All nodes of the history. */
  readonly nodes: readonly Reader[];
  readonly partitions: readonly Partition[];
  readonly random: () => number;
}

/** A node at the port: holds, shares, reads and commits. */
class Reader {
  readonly #driver: StoreDriver;
  readonly #name: string;
  readonly #nodes: readonly Reader[];
  readonly #partitions: readonly Partition[];
  readonly #held = new Map<string, { readonly lease: Lease; cursor: number }>();
  #shared: Lease<SharedLog> | null = null;
  /** Partitions that came to share a log, messages that were postponed and are handled. */
  joins = 0;
  resumed = 0;
  readonly #joined = new Map<Partition, Lease<Partition>>();
  readonly #random: () => number;

  constructor(driver: StoreDriver, name: string, { nodes, partitions, random }: HistoryParts) {
    this.#driver = driver;
    this.#name = name;
    this.#nodes = nodes;
    this.#partitions = partitions;
    this.#random = random;
  }

  /** One random step of its life. */
  async act(dice: number, partition: number): Promise<void> {
    if (dice < 0.3) await this.take(partition);
    else if (dice < 0.55) await this.share();
    else if (dice < 0.63) await this.handOver();
    else if (dice < 0.7) this.die();
    else await this.read();
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
    } else if (got.behind !== undefined) await this.#adopt(got.behind, got.grant);
  }

  /** Takes every log that no node works with, also one that no partition is behind. */
  async takeLogs(): Promise<void> {
    const logs = logsOf(this.#driver.store);
    for (const log of await logs.list()) {
      if (this.#held.has(log)) continue;
      const outcome = await logs.adopt(log, this.#name, randomUUID(), TTL_MS);
      if (outcome.kind === 'held') await this.#adopt(log, outcome.grant);
      else if (outcome.kind === 'granted') this.#held.set(log, { lease: outcome.lease, cursor: outcome.cursor });
    }
  }

  async #adopt(log: SharedLog, grant: string): Promise<void> {
    if (this.#held.has(log)) return;
    const over = this.#isHeld(grant) ? undefined : grant;
    const outcome = await logsOf(this.#driver.store).adopt(log, this.#name, randomUUID(), TTL_MS, over);
    if (outcome.kind === 'granted') this.#held.set(log, { lease: outcome.lease, cursor: outcome.cursor });
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
      const setup = await SharedLogDriver.over(this.#driver, homes);
      // Made for `node-a`; its lease is this reader's all the same.
      this.#shared = setup.lease;
      this.#held.set(setup.lease.log, { lease: setup.lease, cursor: setup.cursor });
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
    // The lease of the log is lost: what it still holds comes before all that the partitions get from now on, so this node drops them too.
    if (!this.#held.has(shared.log)) return;
    for (const home of homes) {
      this.#held.set(home.log, { lease: home, cursor: closed.cursor });
      await this.#resume(home.log, home.log, () => true);
    }
  }

  /** The node dies silently: other nodes may take over what it holds. */
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
    const { now, partitions } = isHome(held.lease) ? { now: entries, partitions: [] } : await this.#postpone(entries);
    // With `upToAt`, as a kernel sends it, a copy that comes after the store went back skips no entries that have its numbers now.
    const commit = { ...commitOf(held.lease, held.cursor, last.seq, { journal: rowOf(now) }), upToAt: last.at };
    const changes = partitions.length === 0 ? {} : { partitions };
    if ((await store.commit({ ...commit, ...changes }, 0)).kind !== 'committed') {
      this.#held.delete(log);
      return false;
    }
    held.cursor = last.seq;
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

  /** Some senders at random, and those of whom messages are postponed already. */
  async #postpone(entries: readonly MailboxEntry[]) {
    const slow = new Set<string>();
    const logs = logsOf(this.#driver.store);
    const known = await Promise.all(this.#partitions.map((partition) => logs.postponed(partition, 0, BOUND)));
    for (const { body } of known.flat()) slow.add(senderOf(body));
    for (const { body } of entries) if (this.#random() < 0.1) slow.add(senderOf(body));
    const isLater = ({ body }: MailboxEntry): boolean => slow.has(senderOf(body));
    const partitions = [...Map.groupBy(entries, ({ partition }) => partition)].flatMap(([partition, some]) => {
      if (partition === undefined) return [];
      const postponed = some.filter(isLater).map(({ seq, at: time, body }) => ({ seq, at: time, body }));
      // As a node does, it writes a state for each actor that handled a message.
      const now = some.filter((entry) => !isLater(entry));
      const records = now.map(({ body }) => ({
        address: addressOf('thing', 'tenant-a', senderOf(body)),
        record: body,
      }));
      return [{ ...NO_CHANGES, partition, records: records.slice(-1), ...(postponed.length > 0 ? { postponed } : {}) }];
    });
    return { now: entries.filter((entry) => !isLater(entry)), partitions };
  }

  /** Handles what is postponed, of those senders. */
  async #resume(log: string, partition: Partition, isResumed: (sender: string) => boolean): Promise<void> {
    const held = this.#held.get(log);
    const { store } = this.#driver;
    const found = await logsOf(store).postponed(partition, 0, BOUND);
    const some = found.filter(({ body }) => isResumed(senderOf(body)));
    if (held === undefined || some.length === 0) return;
    const changes = { resumed: some.map(({ seq }) => seq) };
    const commit = commitOf(held.lease, held.cursor, held.cursor, { journal: rowOf(some), results: some.length });
    const outcome = await store.commit(
      isHome(held.lease)
        ? { ...commit, ...changes }
        : { ...commit, partitions: [{ ...NO_CHANGES, partition, ...changes }] },
      0,
    );
    if (outcome.kind === 'committed') this.resumed += some.length;
    else this.#held.delete(log);
  }
}

/** The bodies that a commit handled, a line each. */
const rowOf = (entries: readonly MailboxEntry[]): string => entries.map(({ body }) => body).join('\n');

const senderOf = (body: string): string => body.split(' ')[0] ?? '';

const isHome = (lease: Lease): lease is Lease<Partition> => lease.log.includes(':');

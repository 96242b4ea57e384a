import type { ActorStore, EffectRow, Lease } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { EffectQueue } from '../effect-queue.ts';
import { fairnessPart } from '../effects/effect-envelope.ts';
import { sleep, turnsFirst } from '../kit/waits.ts';
import type { Locator } from '../locator.ts';

interface PartitionSweepsOptions {
  readonly store: Pick<ActorStore, 'openEffects' | 'now'>;
  readonly queue: Pick<EffectQueue, 'enqueue'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly leaseOf: (partition: Partition) => Lease<Partition> | undefined;
  /** Whether a runner (`node/incarnation`) may be alive. */
  readonly isLive: (runner: string) => boolean;
}

/**
 * Pause for each effect that a sweep read, about ten times what the read takes: a sweep of thousands of effects takes a
 * tenth of the thread for a second, not all of it for a tenth of a second, in which each call would wait.
 */
const PAUSE_MS_AN_EFFECT = 0.1;

/** Longest time that the pauses of one sweep take together. */
const MOST_PAUSED_MS = 1_000;

/** Which partitions of this node have unsettled effects, and the sweeps that keep those effects running (E1). */
export class PartitionSweeps {
  readonly #options: PartitionSweepsOptions;
  readonly #pending = new Set<Partition>();
  /** Jobs that were given to the queue since the lease was taken. */
  readonly #handed = new Map<Partition, Map<string, HandedOver>>();
  /** How many of the next sweeps skip a partition, because nothing in it is due before. */
  readonly #skips = new Map<Partition, number>();

  constructor(options: PartitionSweepsOptions) {
    this.#options = options;
  }

  /**
   * Sweeps a partition that was just acquired: its last holder may have left effects, and may have died while it held
   * their jobs.
   */
  async acquired(lease: Lease<Partition>): Promise<void> {
    this.#pending.add(lease.log);
    this.#handed.delete(lease.log);
    this.#skips.delete(lease.log);
    await this.#sweepOne(lease.log, lease.grant);
  }

  /** Notes that an effect was opened. */
  note(partition: Partition): void {
    this.#pending.add(partition);
    this.#skips.delete(partition);
  }

  drop(partition: Partition): void {
    this.#pending.delete(partition);
    this.#handed.delete(partition);
    this.#skips.delete(partition);
  }

  /**
   * Sweeps the noted partitions, without those that are skipped now. `died` is an incarnation that ended: its jobs may be
   * stuck, so no partition is skipped then, and there are no pauses.
   */
  async sweep(died?: string): Promise<void> {
    const partitions = [...this.#pending];
    const mostMs = died === undefined ? MOST_PAUSED_MS / partitions.length : 0;
    for (const partition of partitions) {
      if (died === undefined && this.#isSkipped(partition)) continue;
      const effects = await this.#sweepOne(partition, died);
      const pauseMs = Math.min(mostMs, effects * PAUSE_MS_AN_EFFECT);
      // An embedded store reads without giving turns and calls a chance to run.
      await (pauseMs < 1 ? turnsFirst() : sleep(this.#options.clock, pauseMs));
    }
  }

  #isSkipped(partition: Partition): boolean {
    const left = this.#skips.get(partition) ?? 0;
    if (left > 0) this.#skips.set(partition, left - 1);
    return left > 0;
  }

  /** Returns how many effects were read. */
  async #sweepOne(partition: Partition, token?: string): Promise<number> {
    // Removed before the read: an effect opened meanwhile puts it back.
    if (!this.#pending.delete(partition)) return 0;
    const { store, queue, isLive } = this.#options;
    try {
      const rows = await store.openEffects(partition);
      if (rows.length === 0) {
        this.#handed.delete(partition);
        return 0;
      }
      const handed = this.#handed.get(partition) ?? new Map<string, HandedOver>();
      this.#handed.set(partition, handed);
      const now = await store.now(partition);
      const readOnce = { openEffects: async () => rows, now: async () => now };
      await sweepEffects(readOnce, queue, partition, { isLive, token, handed });
      const isNoted = this.#pending.has(partition);
      this.#keep(partition);
      if (!isNoted) this.#skips.set(partition, skipsOf(rows, now, isLive));
      return rows.length;
    } catch (thrown) {
      this.#keep(partition);
      throw thrown;
    }
  }

  #keep(partition: Partition): void {
    if (this.#options.leaseOf(partition) !== undefined) this.#pending.add(partition);
  }
}

interface Entry {
  readonly address: Address;
  readonly partition: Partition;
}

/**
 * Removes directory entries without an actor (K1): their client died before its first message, or their actor was
 * archived and the node died before it removed the entry. An entry is removed only when two checks, far apart, found no
 * actor and no message that could still create one.
 */
export class DirectorySweep {
  readonly #store: Pick<ActorStore, 'placed' | 'place' | 'load' | 'backlog'>;
  readonly #locator: Locator;
  #suspects = new Set<Address>();

  constructor(store: Pick<ActorStore, 'placed' | 'place' | 'load' | 'backlog'>, locator: Locator) {
    this.#store = store;
    this.#locator = locator;
  }

  /** Checks the entries of the homes held by this node once. Returns how many were removed. */
  async sweep(homes: Iterable<Partition>): Promise<number> {
    const suspects = new Set<Address>();
    let removed = 0;
    for (const home of homes) {
      let page: string | null = null;
      do {
        const { entries, next } = await this.#store.placed(home, page);
        for (const { address, partition } of await this.#entriesWithoutActor(entries)) {
          if (!this.#suspects.has(address)) suspects.add(address);
          else if (await this.#remove(home, address, partition)) removed += 1;
        }
        page = next;
      } while (page !== null);
    }
    this.#suspects = suspects;
    return removed;
  }

  /**
   * Returns the entries of one page that have no actor: one load, and at most one read of the mailbox, for each
   * partition that they name.
   */
  async #entriesWithoutActor(entries: readonly Entry[]): Promise<Entry[]> {
    const found: Entry[] = [];
    for (const [partition, there] of Map.groupBy(entries, (entry) => entry.partition)) {
      const records = await this.#store.load(
        partition,
        there.map(({ address }) => address),
      );
      const missing = there.filter((_, index) => (records[index] ?? null) === null);
      if (missing.length === 0) continue;
      // A message that is postponed waits behind the cursor. It may be the first one of an actor.
      const { cursor, tail, oldestAt } = await this.#store.backlog(partition);
      if (cursor === tail && oldestAt === null) found.push(...missing);
    }
    return found;
  }

  /**
   * Removes an entry if it still names the partition that was checked. A first message that arrived between check and
   * removal creates an actor there: a second check finds it, and the entry is put back.
   */
  async #remove(home: Partition, address: Address, partition: Partition): Promise<boolean> {
    if (!(await this.#locator.unplace(address, partition))) return false;
    if ((await this.#entriesWithoutActor([{ address, partition }])).length > 0) return true;
    await this.#store.place(home, address, partition);
    return false;
  }
}

type SweptStore = Pick<ActorStore, 'openEffects' | 'now'>;

/** When an effect was last given to the queue (store time), and for which row and token. */
export interface HandedOver {
  readonly until: number;
  readonly token: string | undefined;
  readonly at: number;
}

interface SweepOptions {
  /**
   * Whether a runner (`node/incarnation`) may be alive. Effects that a dead one started are due at once. Default: all
   * are alive.
   */
  readonly isLive?: (runner: string) => boolean;
  /**
   * Set when a node died that may have taken jobs without claiming their effects: identifies that death (EffectQueue).
   */
  readonly token?: string | undefined;
  /** Jobs that earlier sweeps of this lease gave to the queue, by effect id. It is updated here. Default: none. */
  readonly handed?: Map<string, HandedOver>;
}

/**
 * Effects that will be due within this time are enqueued too, so that none waits for the next sweep: longest time from one sweep
 * of a partition to the next, with the pauses.
 */
const AHEAD_MS = 3_000;

/** Most sweeps in a row that skip a partition: the longest delay of an effect whose runner gave it back without queueing it. */
const MOST_SKIPS = 4;

const AT_ONCE = 64;

/** A job that has waited this long in the queue may be lost, so it is enqueued again. */
const AGAIN_MS = 30_000;

/**
 * When many jobs are due to be enqueued again, one sweep takes this part of them, so that the load is spread evenly.
 */
const AGAIN_PARTS = 15;

const LEAST_AGAIN = 8;

interface HandOver {
  readonly row: EffectRow;
  readonly delayMs: number;
  readonly token: string | undefined;
  /** When the same job was enqueued before. */
  readonly lastAt: number | undefined;
}

/**
 * Enqueues the effects of a partition that should be running (E1: the record decides, and a job may get lost). The
 * partition's holder calls it after it got the lease, when a node died, and every two or three seconds. Enqueueing a queued job
 * changes nothing but costs the queue work. So a job that `handed` contains is enqueued again only for another row or
 * token, or after 30 to 60 s. Returns how many jobs were given to the queue.
 */
export async function sweepEffects(
  store: SweptStore,
  queue: Pick<EffectQueue, 'enqueue'>,
  partition: Partition,
  options: SweepOptions = {},
): Promise<number> {
  const handed = options.handed ?? new Map<string, HandedOver>();
  const rows = await store.openEffects(partition);
  forgetEnded(handed, rows);
  if (rows.length === 0) return 0;
  const now = await store.now();
  const going = handOvers(rows, now, options, handed);
  for (let at = 0; at < going.length; at += AT_ONCE) {
    await Promise.all(
      going.slice(at, at + AT_ONCE).map(async ({ row, delayMs, token }) => {
        const { id, address, queue: name, until, fairnessKey } = row;
        const job = { id, partition, address, queue: name, ...fairnessPart(fairnessKey) };
        await queue.enqueue(job, delayMs, token);
        handed.set(id, { until, token, at: now });
      }),
    );
  }
  return going.length;
}

function forgetEnded(handed: Map<string, HandedOver>, rows: readonly EffectRow[]): void {
  if (handed.size === 0) return;
  const open = new Set(rows.map(({ id }) => id));
  for (const id of handed.keys()) if (!open.has(id)) handed.delete(id);
}

function handOvers(
  rows: readonly EffectRow[],
  now: number,
  { isLive = () => true, token }: SweepOptions,
  handed: ReadonlyMap<string, HandedOver>,
): HandOver[] {
  const first: HandOver[] = [];
  const again: HandOver[] = [];
  for (const row of rows) {
    const { id, status, until } = row;
    const dead = tokenOfDead(row, now, isLive);
    if (dead === undefined && (status === 'started' || until > now + AHEAD_MS)) continue;
    const known = handed.get(id);
    const due = { row, delayMs: status === 'open' ? Math.max(0, until - now) : 0, token: dead ?? token };
    const isSame = known?.until === until && (due.token === undefined || due.token === known.token);
    if (!isSame) first.push({ ...due, lastAt: undefined });
    // A store whose clock went back says nothing about the time that has passed.
    else if (now - known.at >= AGAIN_MS || now < known.at) again.push({ ...due, lastAt: known.at });
  }
  again.sort((one, other) => (one.lastAt ?? 0) - (other.lastAt ?? 0));
  return [...first, ...again.slice(0, Math.max(LEAST_AGAIN, Math.ceil(rows.length / AGAIN_PARTS)))];
}

/** How many of the next sweeps would find nothing to do: 0 while an effect waits for a runner. */
function skipsOf(rows: readonly EffectRow[], now: number, isLive: (runner: string) => boolean): number {
  let quietMs = MOST_SKIPS * AHEAD_MS;
  for (const row of rows) {
    if (tokenOfDead(row, now, isLive) !== undefined) return 0;
    quietMs = Math.min(quietMs, row.until - now - (row.status === 'open' ? AHEAD_MS : 0));
  }
  return Math.max(0, Math.floor(quietMs / AHEAD_MS));
}

/**
 * The incarnation that started the effect and is gone, or let its claim expire: the job that it took is stuck
 * (EffectQueue).
 */
function tokenOfDead(row: EffectRow, now: number, isLive: (runner: string) => boolean): string | undefined {
  const { status, runner, until } = row;
  if (status !== 'started' || (until > now && isLive(runner))) return undefined;
  return runner.slice(runner.lastIndexOf('/') + 1);
}

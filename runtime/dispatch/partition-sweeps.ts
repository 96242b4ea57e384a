import type { ActorStore, EffectRow, Lease } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { EffectQueue } from '../effect-queue.ts';
import { fairnessPart } from '../effects/effect-envelope.ts';
import type { Locator } from '../locator.ts';

/** Which partitions of this node have unsettled effects, and the sweeps that keep those running (E1). */
export class PartitionSweeps {
  readonly #store: Pick<ActorStore, 'openEffects' | 'now'>;
  readonly #queue: Pick<EffectQueue, 'enqueue'>;
  readonly #leaseOf: (partition: Partition) => Lease<Partition> | undefined;
  readonly #isLive: (runner: string) => boolean;
  readonly #pending = new Set<Partition>();
  /** What was handed to the queue since the lease was taken. */
  readonly #handed = new Map<Partition, Map<string, HandedOver>>();

  constructor(
    store: Pick<ActorStore, 'openEffects' | 'now'>,
    queue: Pick<EffectQueue, 'enqueue'>,
    leaseOf: (partition: Partition) => Lease<Partition> | undefined,
    isLive: (runner: string) => boolean,
  ) {
    this.#store = store;
    this.#queue = queue;
    this.#leaseOf = leaseOf;
    this.#isLive = isLive;
  }

  /** The last holder may have left some, and have died with jobs in its hands. */
  acquired(lease: Lease<Partition>): Promise<void> {
    this.#pending.add(lease.log);
    this.#handed.delete(lease.log);
    return this.#sweepOne(lease.log, lease.grant);
  }

  /** An effect was opened. */
  note(partition: Partition): void {
    this.#pending.add(partition);
  }

  drop(partition: Partition): void {
    this.#pending.delete(partition);
    this.#handed.delete(partition);
  }

  /** `died`: a life that ended, whose jobs may be stuck. */
  async sweep(died?: string): Promise<void> {
    for (const partition of [...this.#pending]) await this.#sweepOne(partition, died);
  }

  async #sweepOne(partition: Partition, token?: string): Promise<void> {
    // Taken off before the look: an effect opened meanwhile puts it back.
    if (!this.#pending.delete(partition)) return;
    try {
      const rows = await this.#store.openEffects(partition);
      if (rows.length === 0) {
        this.#handed.delete(partition);
        return;
      }
      const handed = this.#handed.get(partition) ?? new Map<string, HandedOver>();
      this.#handed.set(partition, handed);
      const store = { openEffects: async () => rows, now: () => this.#store.now(partition) };
      await sweepEffects(store, this.#queue, partition, { isLive: this.#isLive, token, handed });
      this.#keep(partition);
    } catch (thrown) {
      this.#keep(partition);
      throw thrown;
    }
  }

  #keep(partition: Partition): void {
    if (this.#leaseOf(partition) !== undefined) this.#pending.add(partition);
  }
}

interface Entry {
  readonly address: Address;
  readonly partition: Partition;
}

/**
 * Removes directory entries that lead nowhere (K1): their client died before its first message, or their actor
 * was archived and the node died before the entry went. An entry goes only when two looks, far apart, found no actor
 * and no message that could still make one.
 */
export class DirectorySweep {
  readonly #store: Pick<ActorStore, 'placed' | 'place' | 'load' | 'backlog'>;
  readonly #locator: Locator;
  #suspects = new Set<Address>();

  constructor(store: Pick<ActorStore, 'placed' | 'place' | 'load' | 'backlog'>, locator: Locator) {
    this.#store = store;
    this.#locator = locator;
  }

  /** One look at the entries whose homes this node holds; answers how many were removed. */
  async sweep(homes: Iterable<Partition>): Promise<number> {
    const suspects = new Set<Address>();
    let removed = 0;
    for (const home of homes) {
      let page: string | null = null;
      do {
        const { entries, next } = await this.#store.placed(home, page);
        for (const { address, partition } of await this.#leadNowhere(entries)) {
          if (!this.#suspects.has(address)) suspects.add(address);
          else if (await this.#remove(home, address, partition)) removed += 1;
        }
        page = next;
      } while (page !== null);
    }
    this.#suspects = suspects;
    return removed;
  }

  /** Of one page: one load and at most one look at the mailbox for each partition that its entries name. */
  async #leadNowhere(entries: readonly Entry[]): Promise<Entry[]> {
    const found: Entry[] = [];
    for (const [partition, there] of Map.groupBy(entries, (entry) => entry.partition)) {
      const records = await this.#store.load(
        partition,
        there.map(({ address }) => address),
      );
      const missing = there.filter((_, index) => (records[index] ?? null) === null);
      if (missing.length === 0) continue;
      const { cursor, tail } = await this.#store.backlog(partition);
      if (cursor === tail) found.push(...missing);
    }
    return found;
  }

  /**
   * Removes the entry while it says what was looked at. A first message that arrived between the look and the removal
   * makes an actor there: a second look finds it, and the entry is put back.
   */
  async #remove(home: Partition, address: Address, partition: Partition): Promise<boolean> {
    if (!(await this.#locator.unplace(address, partition))) return false;
    if ((await this.#leadNowhere([{ address, partition }])).length > 0) return true;
    await this.#store.place(home, address, partition);
    return false;
  }
}

type SweptStore = Pick<ActorStore, 'openEffects' | 'now'>;

/** When an effect was last handed to the queue (store time), and the row and token it was handed over for. */
export interface HandedOver {
  readonly until: number;
  readonly token: string | undefined;
  readonly at: number;
}

interface SweepOptions {
  /** Also enqueue what will be due within this time: one sweep interval, so that nothing waits for the next one. */
  readonly aheadMs?: number;
  /** Whether a runner (`node/incarnation`) is known to live; what a dead one started is due at once. Default: all do. */
  readonly isLive?: (runner: string) => boolean;
  /** Somebody died who may have taken jobs without having claimed their effects: names the occasion (EffectQueue). */
  readonly token?: string | undefined;
  /** What earlier sweeps of this lease handed over, by effect id; brought up to date here. Default: nothing was. */
  readonly handed?: Map<string, HandedOver>;
}

const AHEAD_MS = 2_000;

const AT_ONCE = 64;

/** A job that has waited so long in the queue may be lost there, so it is handed over again. */
const AGAIN_MS = 30_000;

/** Of many that are due to be handed over again a sweep takes one part, so that the queue gets them evenly spread. */
const AGAIN_PARTS = 15;

const LEAST_AGAIN = 8;

interface HandOver {
  readonly row: EffectRow;
  readonly delayMs: number;
  readonly token: string | undefined;
  /** When the same was handed over before. */
  readonly lastAt: number | undefined;
}

/**
 * Puts the effects of a partition that should be running back into the queue (E1: a lost job is never the
 * truth, the record is). Called by the partition's holder after it got the lease, when a node died, and every two
 * seconds. Enqueueing what is queued changes nothing, but it is work for the queue: what `handed` says was handed over
 * is only handed over again for another row or token, or after 30 to 60 s. Answers how many were handed to the queue.
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
  { aheadMs = AHEAD_MS, isLive = () => true, token }: SweepOptions,
  handed: ReadonlyMap<string, HandedOver>,
): HandOver[] {
  const first: HandOver[] = [];
  const again: HandOver[] = [];
  for (const row of rows) {
    const { id, status, until } = row;
    const dead = tokenOfDead(row, now, isLive);
    if (dead === undefined && (status === 'started' || until > now + aheadMs)) continue;
    const known = handed.get(id);
    const due = { row, delayMs: status === 'open' ? Math.max(0, until - now) : 0, token: dead ?? token };
    const isSame = known?.until === until && (due.token === undefined || due.token === known.token);
    if (!isSame) first.push({ ...due, lastAt: undefined });
    // A store whose clock went back says nothing about how long it has been.
    else if (now - known.at >= AGAIN_MS || now < known.at) again.push({ ...due, lastAt: known.at });
  }
  again.sort((one, other) => (one.lastAt ?? 0) - (other.lastAt ?? 0));
  return [...first, ...again.slice(0, Math.max(LEAST_AGAIN, Math.ceil(rows.length / AGAIN_PARTS)))];
}

/** The life that started the effect and is gone, or let its claim run out: the job it took is stuck (EffectQueue). */
function tokenOfDead(row: EffectRow, now: number, isLive: (runner: string) => boolean): string | undefined {
  const { status, runner, until } = row;
  if (status !== 'started' || (until > now && isLive(runner))) return undefined;
  return runner.slice(runner.lastIndexOf('/') + 1);
}

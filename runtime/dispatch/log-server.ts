import type { Lease } from '../actor-store.ts';
import { type Address, isSharedLog, type Log, type Partition } from '../address.ts';
import type { EffectSettle } from '../effect-ledger.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { sleep } from '../kit/waits.ts';
import type { MailboxEntry } from '../message.ts';
import { closeEndedWithRetry, LogOrder } from './close-ended.ts';
import type { Committed, Committing } from './commit-turns.ts';
import type { KernelParts } from './kernel-parts.ts';
import { LogBatches, takePostponed } from './log-batches.ts';
import { Progress } from './progress.ts';
import { StoreClock } from './store-clock.ts';

/** How long the commit of a stopping node is repeated while the store is not reachable. */
const DRAIN_MS = 5_000;
/** Results of effects handled beside the mailbox while its cursor stands: the rest of MOST_BESIDE is for postponed messages. */
const MOST_RESULTS = 5_000;
const LOOK_AGAIN_MS = 50;

export interface ServedEvents {
  committed(done: Committed): void;
  /** The lease turned out to be lost while a result or a postponed message was handled. */
  lost(): void;
}

/** How a log stood when its lease was granted. */
export interface Granted<L extends Log = Log> {
  readonly lease: Lease<L>;
  readonly cursor: number;
  readonly beside: number;
  readonly tail: number;
  readonly at: number;
  readonly mayBeOlder: boolean;
  /** Partitions with messages that were postponed. */
  readonly postponed: readonly Partition[];
}

/**
 * Serves one log under one lease: takes its mailbox batch by batch, runs the turns, commits. Batches are strictly one after
 * another; a fenced commit ends it for good (K4). The log is a partition's own, or one that partitions share.
 */
export class LogServer<L extends Log = Log> {
  readonly lease: Lease<L>;
  /** Those whose messages are in the log. */
  readonly partitions: Set<Partition>;
  readonly #parts: KernelParts;
  readonly #on: ServedEvents;
  readonly takenAt: number;
  /** Also what is left to compare with when the lease was lost. */
  readonly progress: Progress;
  /** The clock of the store that holds this partition: turns and timers run on it. */
  readonly clock: StoreClock;
  #lost = false;
  /** A closed log that is read to its end: its partitions may be served by others. */
  #ended = false;
  #drainUntil = Number.POSITIVE_INFINITY;
  readonly #order = new LogOrder();
  readonly #batches: LogBatches;
  /** The log that its partition shares now: it has the turns of its actors. */
  #joined: LogServer | null = null;
  /** Resolves when what the archive knows as ended is closed: before anything is served, and before effects are run. */
  readonly lookedThrough: Promise<void>;

  /** `partitions`: those that share the log. */
  constructor(granted: Granted<L>, partitions: Iterable<Partition>, parts: KernelParts, on: ServedEvents) {
    this.lease = granted.lease;
    this.partitions = new Set(partitions);
    this.takenAt = granted.tail;
    this.progress = new Progress(granted.cursor, granted.beside);
    this.clock = new StoreClock(parts.clock, granted.at);
    this.#parts = parts;
    this.#on = on;
    const { lease, progress } = this;
    const isLost = (): boolean => this.#lost;
    const committing: Committing = {
      ...{ lease, progress, lose: () => this.lose(), committed: (done) => on.committed(done) },
      get lost() {
        return isLost();
      },
      isOver: () => this.#lost || parts.clock.monotonic() > this.#drainUntil,
    };
    const mayCommit = (): boolean => !this.#lost && !this.#ended && !this.#draining();
    this.#batches = new LogBatches(parts, this, committing, (work) =>
      this.#order.between(async () => {
        if (mayCommit()) await work();
        if (this.#lost) on.lost();
      }),
    );
    this.lookedThrough = granted.mayBeOlder ? this.#order.run(() => this.#lookThrough()) : Promise.resolve();
    if (granted.postponed.length > 0) this.#beforeAll(() => this.#takePostponed(granted.postponed));
  }

  get cursor(): number {
    return this.progress.cursor;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** Stops serving: what is cached may be stale from now on, and a commit under way will be fenced or is done. */
  lose(): void {
    this.#lost = true;
    this.#batches.slow?.stop();
    if (!this.#ended) this.#parts.cache.dropPartitions(this.partitions);
  }

  /** Nothing runs and nothing waits: the partition may begin to share a log. */
  get isIdle(): boolean {
    return this.#order.isIdle && !this.#batches.results.isAnyWaiting && this.#batches.slow?.isAnyWaiting !== true;
  }

  /** Where the actor of an entry lives. */
  partitionOf = ({ partition }: Pick<MailboxEntry, 'partition'>): Partition => {
    const { log } = this.lease;
    if (partition !== undefined) return partition;
    if (!isSharedLog(log)) return log;
    throw new SvcError('internal', `an entry of ${log} does not say its partition`);
  };

  /** While `join` runs nothing else does; when it answers true, the turns of its actors are `shared`'s from then on. */
  async share(shared: LogServer, join: () => Promise<boolean>): Promise<void> {
    await this.#order.run(async () => {
      if (await join()) this.#joined = shared;
    });
    if (this.#joined !== null) this.#batches.results.refuse();
  }

  /**
   * Its own log goes on at `cursor` when `read` says that the one it shared is read to its end. When that is not so, another
   * node may be reading it, and its actors are not served here.
   */
  resume(cursor: number, read: Promise<boolean>): void {
    this.#beforeAll(async () => {
      if (!(await read)) return this.#fencedOff();
      this.progress.moved(cursor, 0, []);
      const shared = this.#joined;
      this.#joined = null;
      await this.#takePostponed([...this.partitions].filter((one) => shared?.hasPostponed(one) === true));
    });
  }

  /** Messages that wait for the state of their actor. */
  get postponed(): number {
    return this.#batches.slow?.size ?? 0;
  }

  /** Whether messages of a partition are postponed here. */
  hasPostponed(partition: Partition): boolean {
    return this.#batches.slow?.isAnyIn(partition) === true;
  }

  /**
   * Reads the closed log to its last entry. `goesOn`: this node serves its partitions on, whose actors stay in memory. False
   * when it was not read to that entry.
   */
  async readTo(tail: number, goesOn: boolean): Promise<boolean> {
    while (this.cursor < tail && !this.#lost && !this.#draining()) {
      const [found = null] = await this.#parts.store.poll(
        [{ lease: this.lease, after: this.cursor }],
        this.#parts.batchLimit,
      );
      if (found === null) {
        this.#fencedOff();
        return false;
      }
      await this.serve(found);
    }
    if (this.#lost || this.cursor < tail) return false;
    await this.#order.run(async () => {
      if (!goesOn) this.#parts.cache.dropPartitions(this.partitions);
      this.#ended = true;
      this.#batches.slow?.stop();
    });
    this.#batches.results.refuse();
    return true;
  }

  async #lookThrough(): Promise<void> {
    const isOver = (): boolean => this.#lost || this.#draining();
    if (await closeEndedWithRetry(this.#parts, this, isOver)) this.#parts.lostActors.lookIn(this.partitions);
    else this.#fencedOff();
  }

  #fencedOff(): void {
    this.lose();
    this.#on.lost();
  }

  /** Handles entries and all that wait behind them. Resolves when none is left or the lease is lost. */
  serve(first: readonly MailboxEntry[]): Promise<void> {
    // Entries behind a cursor that moved while this call waited were handled by the batch that moved it.
    return this.#order.run(() => this.#serveAll(first.filter((entry) => entry.seq > this.cursor)));
  }

  /**
   * Takes the result of an effect that ran in this process: the next batch handles it beside the mailbox, whatever waits
   * there, and its commit ends the effect. False when nothing was written, or when the outcome of the commit is unknown;
   * the result is then sent as a message, like that of an effect elsewhere.
   */
  settle(result: EffectSettle, partition: Partition): Promise<boolean> {
    if (!this.#parts.takesResults() || this.#ended) return Promise.resolve(false);
    if (this.#joined !== null) return this.#joined.settle(result, partition);
    if (this.progress.beside >= MOST_RESULTS) return Promise.resolve(false);
    return this.#batches.results.add({ ...result, partition }, () => {
      // Entries behind it are found by the next wake-up or poll.
      this.#order
        .run(() => this.#serveResults())
        .catch((thrown: unknown) =>
          this.#parts.warn(`what follows a result in ${this.lease.log} waits`, toSvcError(thrown)),
        );
    });
  }

  async #serveResults(): Promise<void> {
    try {
      await this.#serveAll([]);
    } finally {
      this.#batches.results.refuse();
      if (this.#lost) this.#on.lost();
    }
  }

  async #serveAll(first: readonly MailboxEntry[]): Promise<void> {
    let entries = first;
    while ((entries.length > 0 || this.#batches.results.isAnyWaiting) && !this.#lost && !this.#draining()) {
      entries = await this.#batches.handle(entries);
      await this.#makeRoom();
    }
  }

  /** Resolves when what runs now has committed, or the store was not reachable for long; nothing is served after. */
  drain(): Promise<void> {
    this.#drainUntil = this.#parts.clock.monotonic() + DRAIN_MS;
    this.#batches.slow?.stop();
    return this.#order.run(async () => {});
  }

  #draining(): boolean {
    return this.#drainUntil < Number.POSITIVE_INFINITY;
  }

  /**
   * Removes archived actors from the store, all in one call; answers those that are gone. An actor whose record is another
   * one than the archived stays, and all stay when the lease is lost.
   */
  forget(archived: ReadonlyMap<Address, string>, partition: Partition): Promise<readonly Address[]> {
    return this.#order.run(async () => {
      const { store, cache } = this.#parts;
      if (this.#joined !== null) return this.#joined.forget(archived, partition);
      if (this.#ended) return [];
      const unknown = [...archived.keys()].filter((address) => cache.get(address)?.text == null);
      if (this.#lost) return [];
      const loaded = unknown.length === 0 ? [] : await store.load(partition, unknown);
      const records = new Map(unknown.map((address, index) => [address, loaded[index] ?? null]));
      const isSlow = (address: Address): boolean => this.#batches.slow?.isWaiting(address) === true;
      const going = [...archived.keys()].filter(
        (address) => (records.get(address) ?? cache.get(address)?.text) === archived.get(address) && !isSlow(address),
      );
      for (const address of going) cache.drop(address);
      if (going.length === 0 || (await store.forget(this.lease, this.cursor, going, partition))) return going;
      this.lose();
      return [];
    });
  }

  /** Nothing is served before it is done. */
  #beforeAll(work: () => Promise<void>): void {
    this.#order.run(work).catch((thrown: unknown) => {
      this.#parts.warn(`${this.lease.log} does not go on`, toSvcError(thrown));
      this.#fencedOff();
    });
  }

  #takePostponed(partitions: readonly Partition[]): Promise<void> {
    const { slow } = this.#batches;
    const isOver = (): boolean => this.#lost || this.#draining();
    return slow === null ? Promise.resolve() : takePostponed(this.#parts, partitions, slow, isOver);
  }

  /** Waits while as many messages are postponed as may be. */
  async #makeRoom(): Promise<void> {
    await this.#order.runBetween();
    while (this.#batches.slow?.isFull === true && !this.#lost && !this.#draining()) {
      await sleep(this.#parts.clock, LOOK_AGAIN_MS);
      await this.#order.runBetween();
    }
  }
}

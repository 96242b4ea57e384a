import type { Lease } from '../actor-store.ts';
import { type Address, isSharedLog, type Log, type Partition } from '../address.ts';
import type { EffectSettle } from '../effect-ledger.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { sleep, turnsFirst } from '../kit/waits.ts';
import type { MailboxEntry } from '../message.ts';
import { closeEndedWithRetry, LogOrder } from './close-ended.ts';
import type { Committed, Committing } from './commit-turns.ts';
import type { KernelParts } from './kernel-parts.ts';
import { LogBatches } from './log-batches.ts';
import { Progress } from './progress.ts';
import { takePostponed } from './slow-actors.ts';
import { StoreClock } from './store-clock.ts';

/** How long a stopping node repeats its commit while the store is unavailable. */
const DRAIN_MS = 5_000;
/** Most effect results handled beside the mailbox at one cursor. The rest of MOST_BESIDE is for postponed messages. */
const MOST_RESULTS = 5_000;
const LOOK_AGAIN_MS = 50;

interface ServedEvents {
  committed(done: Committed): void;
  /** Called when the lease proved to be lost while a result or a postponed message was handled. */
  lost(): void;
  /** Called when a store that may have gone back was compared with documents: how many actors they have in a later state. */
  compared(ahead: ReadonlyMap<Partition, number>): void;
}

/** State of a log when its lease was granted. */
interface Granted<L extends Log = Log> {
  readonly lease: Lease<L>;
  readonly cursor: number;
  readonly beside: number;
  readonly tail: number;
  readonly at: number;
  readonly mayBeOlder: boolean;
  /** Partitions that have postponed messages. */
  readonly postponed: readonly Partition[];
}

/**
 * Serves one log under one lease: takes its mailbox batch by batch, runs the turns, commits. Commits run strictly one
 * after another, and a fenced commit ends the server for good (K4). The log is a partition's own, or one that
 * partitions share.
 */
export class LogServer<L extends Log = Log> {
  readonly lease: Lease<L>;
  /** Partitions whose messages are in the log. */
  readonly partitions: Set<Partition>;
  readonly #parts: KernelParts;
  readonly #on: ServedEvents;
  readonly takenAt: number;
  /** How far the log was handled. It is compared with the store after the lease was lost. */
  readonly progress: Progress;
  /** The clock of the store that holds this partition. Turns and timers use it. */
  readonly clock: StoreClock;
  #lost = false;
  /** The log is closed and read to its end: other nodes may serve its partitions. */
  #ended = false;
  #drainUntil = Number.POSITIVE_INFINITY;
  readonly #order = new LogOrder();
  readonly #batches: LogBatches;
  /** Removals of ended actors that wait for a gap between batches. */
  readonly #removals: (() => Promise<void>)[] = [];
  /** The shared log that its partition has joined, which runs the turns of its actors. */
  #joined: LogServer | null = null;
  /** Resolves when the actors that the archive knows as ended are closed. Serving and effects wait for it. */
  readonly lookedThrough: Promise<void>;

  /** `partitions` are those that share the log. */
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
      lease,
      progress,
      lose: () => this.lose(),
      committed: (done) => on.committed(done),
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

  /**
   * Stops serving: cached actors may be outdated from now on, and a commit under way is either done or will be fenced.
   */
  lose(): void {
    this.#lost = true;
    this.#batches.slow?.stop();
    if (!this.#ended) this.#parts.cache.dropPartitions(this.partitions);
  }

  /** Whether no work runs or waits, so that the partition may join a shared log. */
  get isIdle(): boolean {
    return this.#order.isIdle && !this.#batches.results.isAnyWaiting && this.#batches.slow?.isAnyWaiting !== true;
  }

  /** Partition of the actor of an entry. */
  partitionOf = ({ partition }: Pick<MailboxEntry, 'partition'>): Partition => {
    const { log } = this.lease;
    if (partition !== undefined) return partition;
    if (!isSharedLog(log)) return log;
    throw new SvcError('internal', `an entry of ${log} does not say its partition`);
  };

  /** Runs `join` while no other work runs. When it returns true, `shared` runs the turns of the actors from then on. */
  async share(shared: LogServer, join: () => Promise<boolean>): Promise<void> {
    await this.#order.run(async () => {
      if (await join()) this.#joined = shared;
    });
    if (this.#joined !== null) this.#batches.results.refuse();
  }

  /**
   * Continues the partition's own log at `cursor` once `read` says that the shared log is read to its end. When it is
   * not, another node may be reading it, so this server ends.
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

  /** Messages that wait for the state of their actor to load. */
  get postponed(): number {
    return this.#batches.slow?.size ?? 0;
  }

  /** Whether messages of an actor are postponed here. */
  isPostponing(address: Address): boolean {
    return this.#batches.slow?.isWaiting(address) === true;
  }

  /** Whether messages of a partition are postponed here. */
  hasPostponed(partition: Partition): boolean {
    return this.#batches.slow?.isAnyIn(partition) === true;
  }

  /**
   * Reads the closed log to its last entry. `goesOn` says that this node continues to serve its partitions, so their
   * actors stay in memory. False when that entry was not reached.
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
    const ahead = await closeEndedWithRetry(this.#parts, this, isOver);
    if (ahead === null) return this.#fencedOff();
    this.#parts.lostActors.lookIn(this.partitions);
    this.#on.compared(ahead);
  }

  #fencedOff(): void {
    this.lose();
    this.#on.lost();
  }

  /** Handles entries and all entries that wait behind them. Resolves when none is left or the lease is lost. */
  serve(first: readonly MailboxEntry[]): Promise<void> {
    // Entries up to the cursor were handled by a batch that moved it while this call waited.
    return this.#order.run(() => this.#serveAll(first.filter((entry) => entry.seq > this.cursor)));
  }

  /**
   * Takes the result of an effect that ran in this process. The next batch handles it beside the mailbox, ahead of
   * waiting entries, and its commit ends the effect. False when nothing was written, or when the outcome of the commit
   * is unknown: the result is then sent as a message, like one from another node.
   */
  settle(result: EffectSettle, partition: Partition): Promise<boolean> {
    if (!this.#parts.takesResults() || this.#ended) return Promise.resolve(false);
    if (this.#joined !== null) return this.#joined.settle(result, partition);
    if (this.progress.beside >= MOST_RESULTS) return Promise.resolve(false);
    return this.#batches.results.add({ ...result, partition }, () => {
      // The next wake-up or poll finds the entries behind it.
      this.#order
        .run(() => this.#serveResults())
        .catch((thrown: unknown) =>
          this.#parts.warn(
            `${this.lease.log}: a result could not be handled; the next poll continues`,
            toSvcError(thrown),
          ),
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
    const batches = this.#batches;
    const isAnyLeft = (): boolean => entries.length > 0 || batches.isNextReady || batches.results.isAnyWaiting;
    let entries = first;
    try {
      while (isAnyLeft() && !this.#lost && !this.#draining()) {
        entries = await batches.handle(entries);
        await this.#makeRoom();
      }
    } finally {
      batches.dropNext();
    }
  }

  /**
   * Resolves when the running work has committed and its effects have begun, or the store was unavailable for too long.
   * Nothing is served afterwards.
   */
  drain(): Promise<void> {
    this.#drainUntil = this.#parts.clock.monotonic() + DRAIN_MS;
    this.#batches.slow?.stop();
    return this.#order.run(turnsFirst);
  }

  #draining(): boolean {
    return this.#drainUntil < Number.POSITIVE_INFINITY;
  }

  /**
   * Removes archived actors of a partition from the store. Returns those that were removed. An actor stays when its record
   * is not the archived one, and all stay when the lease is lost. Requests of many partitions that wait for the same gap
   * between batches are done together, because no turns run meanwhile.
   */
  forget(archived: ReadonlyMap<Address, string>, partition: Partition): Promise<readonly Address[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Address[]>();
    this.#removals.push(() => this.#forget(archived, partition).then(resolve, reject));
    if (this.#removals.length > 1) return promise;
    this.#order
      .run(async () => {
        await Promise.all(this.#removals.splice(0).map((remove) => remove()));
      })
      .catch(reject);
    return promise;
  }

  async #forget(archived: ReadonlyMap<Address, string>, partition: Partition): Promise<readonly Address[]> {
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
    this.#fencedOff();
    return [];
  }

  /** Runs work before anything else is served. */
  #beforeAll(work: () => Promise<void>): void {
    this.#order.run(work).catch((thrown: unknown) => {
      this.#parts.warn(
        `${this.lease.log} cannot be served: the node drops it and acquires it again`,
        toSvcError(thrown),
      );
      this.#fencedOff();
    });
  }

  #takePostponed(partitions: readonly Partition[]): Promise<void> {
    const { slow } = this.#batches;
    const isOver = (): boolean => this.#lost || this.#draining();
    return slow === null ? Promise.resolve() : takePostponed(this.#parts, partitions, slow, isOver);
  }

  /** Waits while the number of postponed messages is at its limit. */
  async #makeRoom(): Promise<void> {
    await this.#order.runBetween();
    while (this.#batches.slow?.isFull === true && !this.#lost && !this.#draining()) {
      await sleep(this.#parts.clock, LOOK_AGAIN_MS);
      await this.#order.runBetween();
    }
  }
}

import type { Lease, MailboxEntry } from '../actor-store.ts';
import { type Address, isSharedLog, type Log, type Partition } from '../address.ts';
import type { EffectSettle } from '../effect-ledger.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { closeEndedPatiently } from './close-ended.ts';
import { type Committed, type Committing, commitTurns } from './commit-turns.ts';
import { handleInParts, USUAL } from './in-parts.ts';
import type { KernelParts } from './kernel-parts.ts';
import { OwnResults } from './own-results.ts';
import { Progress } from './progress.ts';
import { BatchRun, goOnAhead, type Handling } from './run-batch.ts';
import { StoreClock } from './store-clock.ts';

/** How long the commit of a stopping node is repeated while the store is not reachable. */
const DRAIN_MS = 5_000;

const NONE: ReadonlyMap<string, string> = new Map();

export interface ServedEvents {
  committed(done: Committed): void;
  /** The lease turned out to be lost while a result was taken. */
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
}

/**
 * Serves one log under one lease: takes its mailbox batch by batch, runs the turns, commits. Batches are strictly one after
 * another; a fenced commit ends it for good (design K4). The log is a partition's own, or one that partitions share.
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
  #tail: Promise<void> = Promise.resolve();
  #running = 0;
  readonly #results = new OwnResults();
  /** The log that its partition shares now: it has the turns of its actors. */
  #joined: LogServer | null = null;
  /** Resolves when what the archive knows as ended is closed: before anything is served, and before effects are run. */
  readonly lookedThrough: Promise<void>;
  readonly #committing: Committing;

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
    this.#committing = {
      ...{ lease, progress, lose: () => this.lose(), committed: (done) => on.committed(done) },
      get lost() {
        return isLost();
      },
      isOver: () => this.#lost || parts.clock.monotonic() > this.#drainUntil,
    };
    this.lookedThrough = granted.mayBeOlder ? this.#exclusive(() => this.#lookThrough()) : Promise.resolve();
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
    if (!this.#ended) this.#parts.cache.dropPartitions(this.partitions);
  }

  /** Nothing runs and nothing waits to: the partition may begin to share a log. */
  get isIdle(): boolean {
    return this.#running === 0 && !this.#results.isAnyWaiting;
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
    await this.#exclusive(async () => {
      if (await join()) this.#joined = shared;
    });
    if (this.#joined !== null) this.#results.refuse();
  }

  /**
   * Its own log goes on at `cursor` when `read` says that the one it shared is read to its end. When that is not so, another
   * node may be reading it, and its actors are not served here.
   */
  resume(cursor: number, read: Promise<boolean>): void {
    this.#exclusive(async () => {
      if (!(await read)) return this.#fencedOff();
      this.progress.moved(cursor, 0, []);
      this.#joined = null;
    }).catch((thrown: unknown) => this.#parts.warn(`${this.lease.log} does not go on`, toSvcError(thrown)));
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
    await this.#exclusive(async () => {
      if (!goesOn) this.#parts.cache.dropPartitions(this.partitions);
      this.#ended = true;
    });
    this.#results.refuse();
    return true;
  }

  async #lookThrough(): Promise<void> {
    const isOver = (): boolean => this.#lost || this.#draining();
    if (!(await closeEndedPatiently(this.#parts, this, isOver))) this.#fencedOff();
  }

  #fencedOff(): void {
    this.lose();
    this.#on.lost();
  }

  /** Handles entries and all that wait behind them. Resolves when none is left or the lease is lost. */
  serve(first: readonly MailboxEntry[]): Promise<void> {
    // Entries behind a cursor that moved while this call waited were handled by the batch that moved it.
    return this.#exclusive(() => this.#serveAll(first.filter((entry) => entry.seq > this.cursor)));
  }

  /**
   * Takes the result of an effect that ran in this process: the next batch handles it beside the mailbox, whatever waits
   * there, and its commit ends the effect. False when nothing was written, or when the outcome of the commit is unknown;
   * the result is then sent as a message, like that of an effect elsewhere.
   */
  settle(result: EffectSettle, partition: Partition): Promise<boolean> {
    if (!this.#parts.takesResults() || this.#ended) return Promise.resolve(false);
    if (this.#joined !== null) return this.#joined.settle(result, partition);
    return this.#results.add({ ...result, partition }, () => {
      // What waits behind it is looked for again with the next bell, or without one.
      this.#exclusive(() => this.#serveResults()).catch((thrown: unknown) =>
        this.#parts.warn(`what follows a result in ${this.lease.log} waits`, toSvcError(thrown)),
      );
    });
  }

  async #serveResults(): Promise<void> {
    try {
      await this.#serveAll([]);
    } finally {
      this.#results.refuse();
      if (this.#lost) this.#on.lost();
    }
  }

  async #serveAll(first: readonly MailboxEntry[]): Promise<void> {
    let entries = first;
    while ((entries.length > 0 || this.#results.isAnyWaiting) && !this.#lost && !this.#draining())
      entries = await this.#serveBatch(entries);
  }

  /** Resolves when what runs now has committed, or the store was not reachable for long; nothing is served after. */
  drain(): Promise<void> {
    this.#drainUntil = this.#parts.clock.monotonic() + DRAIN_MS;
    return this.#exclusive(async () => {});
  }

  #draining(): boolean {
    return this.#drainUntil < Number.POSITIVE_INFINITY;
  }

  /**
   * Removes archived actors from the store, all in one call; answers those that are gone. An actor whose record is another
   * one than the archived stays, and all stay when the lease is lost.
   */
  forget(archived: ReadonlyMap<Address, string>, partition: Partition): Promise<readonly Address[]> {
    return this.#exclusive(async () => {
      const { store, cache } = this.#parts;
      if (this.#joined !== null) return this.#joined.forget(archived, partition);
      if (this.#ended) return [];
      const unknown = [...archived.keys()].filter((address) => cache.get(address)?.text == null);
      if (this.#lost) return [];
      const loaded = unknown.length === 0 ? [] : await store.load(partition, unknown);
      const records = new Map(unknown.map((address, index) => [address, loaded[index] ?? null]));
      const going = [...archived.keys()].filter(
        (address) => (records.get(address) ?? cache.get(address)?.text) === archived.get(address),
      );
      for (const address of going) cache.drop(address);
      if (going.length === 0 || (await store.forget(this.lease, this.cursor, going, partition))) return going;
      this.lose();
      return [];
    });
  }

  /** One thing at a time: batches and removals never overlap. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    const run = this.#tail.then(work);
    const ended = (): void => {
      this.#running -= 1;
    };
    this.#tail = run.then(ended, ended);
    return run;
  }

  async #serveBatch(entries: readonly MailboxEntry[]): Promise<readonly MailboxEntry[]> {
    if (entries.length === 0) return (await this.#handleWithResults([])) ?? [];
    return handleInParts(entries, {
      handle: async (part, handling) =>
        (await (handling === USUAL ? this.#handleWithResults(part) : this.#handle(part, handling))) ?? [],
      isLost: () => this.#lost,
      unfit: ({ seq }, error) => this.#parts.warn(`entry ${seq} of ${this.lease.log} cannot be committed`, error),
    });
  }

  /** Null: nothing was written. Results that cannot be handled beside the mailbox are sent like any other. */
  async #handleWithResults(entries: readonly MailboxEntry[]): Promise<readonly MailboxEntry[] | null> {
    const results = this.#results;
    try {
      const next = await this.#handle(entries, USUAL, true);
      const sent = results.done(next !== null);
      if (next !== null || this.#lost || sent === 0) return next;
    } catch (thrown) {
      const sent = results.done(false);
      if (sent === 0) throw thrown;
      // Sent like any other it comes again, and what is wrong with it is dealt with there.
      this.#parts.counts.resultsFailed += 1;
      this.#parts.warn(`${sent} results of ${this.lease.log} are sent: their turns failed`, toSvcError(thrown));
    }
    return entries.length === 0 ? null : this.#handle(entries, USUAL);
  }

  /** Null: nothing was written. `beside`: with results that are there, and effects that are run ahead. */
  async #handle(
    entries: readonly MailboxEntry[],
    handling: Handling,
    beside = false,
  ): Promise<readonly MailboxEntry[] | null> {
    const run = new BatchRun(this.#parts, this, handling, entries);
    const mayRunAhead = beside && this.#parts.takesResults();
    const ahead = mayRunAhead ? this.#parts.starts.ahead() : null;
    let next: readonly MailboxEntry[] | null = null;
    try {
      const batch = await run.begin(beside ? this.#results.take(NONE) : []);
      if (batch !== null && (ahead === null || (await goOnAhead(run, batch, ahead, this.#results)))) {
        next = await commitTurns(this.#parts, this.#committing, run, batch, ahead);
      }
      return next;
    } finally {
      ahead?.end(next !== null);
      if (next === null) {
        if (ahead !== null) this.#results.drop(ahead.requests);
        run.forget();
      }
    }
  }
}

import type { Commit, Lease, MailboxEntry } from '../actor-store.ts';
import type { Address } from '../address.ts';
import type { EffectSettle } from '../effect-ledger.ts';
import type { EffectJob } from '../effect-queue.ts';
import { fairnessPart } from '../effects/flow.ts';
import { toSvcError } from '../errors.ts';
import type { ProjectedCommit } from '../projection/projected-commit.ts';
import type { Batch } from '../turns/batch.ts';
import { packCommit } from '../turns/pack-commit.ts';
import { isAside } from '../turns/payload.ts';
import type { AheadOfCommit } from './ahead-of-commit.ts';
import { closeEndedPatiently } from './close-ended.ts';
import { commitPatiently } from './commit-patiently.ts';
import { handleInParts, USUAL } from './in-parts.ts';
import type { KernelParts } from './kernel-parts.ts';
import { OwnResults } from './own-results.ts';
import { Progress } from './progress.ts';
import { BatchRun, goOnAhead, type Handling } from './run-batch.ts';
import type { Starting } from './starts-here.ts';
import { StoreClock } from './store-clock.ts';

/** How long the commit of a stopping node is repeated while the store is not reachable. */
const DRAIN_MS = 5_000;

const NONE: ReadonlyMap<string, string> = new Map();

/** What a committed batch sets going. */
export interface Committed {
  readonly commit: Commit;
  /** Store time of the commit. */
  readonly at: number;
  readonly owes: boolean;
  readonly jobs: readonly EffectJob[];
  readonly starting: Pick<Starting, 'begin'>;
  readonly projected: ProjectedCommit;
}

export interface ServedEvents {
  committed(done: Committed): void;
  /** The lease turned out to be lost while a result was taken. */
  lost(): void;
}

/**
 * Serves one partition under one lease: takes its mailbox batch by batch, runs the turns, commits. Batches are
 * strictly one after another; a fenced commit ends it for good (design K4).
 */
export class PartitionServer {
  readonly lease: Lease;
  readonly #parts: KernelParts;
  readonly #on: ServedEvents;
  readonly takenAt: number;
  /** Also what is left to compare with when the lease was lost. */
  readonly progress: Progress;
  /** The clock of the store that holds this partition: turns and timers run on it. */
  readonly clock: StoreClock;
  #lost = false;
  #drainUntil = Number.POSITIVE_INFINITY;
  #tail: Promise<void> = Promise.resolve();
  readonly #results = new OwnResults();
  /** Resolves when what the archive knows as ended is closed: before anything is served, and before effects are run. */
  readonly lookedThrough: Promise<void>;

  constructor(
    granted: {
      readonly lease: Lease;
      readonly cursor: number;
      readonly beside: number;
      readonly tail: number;
      readonly at: number;
      readonly mayBeOlder: boolean;
    },
    parts: KernelParts,
    on: ServedEvents,
  ) {
    this.lease = granted.lease;
    this.takenAt = granted.tail;
    this.progress = new Progress(granted.cursor, granted.beside);
    this.clock = new StoreClock(parts.clock, granted.at);
    this.#parts = parts;
    this.#on = on;
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
    this.#parts.cache.dropPartition(this.lease.partition);
  }

  async #lookThrough(): Promise<void> {
    const isOver = (): boolean => this.#lost || this.#draining();
    if (!(await closeEndedPatiently(this.#parts, this.lease, this.cursor, isOver))) this.#fencedOff();
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
  settle(result: EffectSettle): Promise<boolean> {
    if (!this.#parts.takesResults()) return Promise.resolve(false);
    return this.#results.add(result, () => {
      const { partition } = this.lease;
      // What waits behind it is looked for again with the next bell, or without one.
      this.#exclusive(() => this.#serveResults()).catch((thrown: unknown) =>
        this.#parts.warn(`what follows a result in ${partition} waits`, toSvcError(thrown)),
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
  forget(archived: ReadonlyMap<Address, string>): Promise<readonly Address[]> {
    return this.#exclusive(async () => {
      const { store, cache } = this.#parts;
      const { partition } = this.lease;
      const unknown = [...archived.keys()].filter((address) => cache.get(address)?.text == null);
      if (this.#lost) return [];
      const loaded = unknown.length === 0 ? [] : await store.load(partition, unknown);
      const records = new Map(unknown.map((address, index) => [address, loaded[index] ?? null]));
      const going = [...archived.keys()].filter(
        (address) => (records.get(address) ?? cache.get(address)?.text) === archived.get(address),
      );
      for (const address of going) cache.drop(address);
      if (going.length === 0 || (await store.forget(this.lease, this.cursor, going))) return going;
      this.lose();
      return [];
    });
  }

  /** One thing at a time: batches and removals never overlap. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#tail.then(work);
    this.#tail = run.then(
      () => undefined,
      () => undefined,
    );
    return run;
  }

  async #serveBatch(entries: readonly MailboxEntry[]): Promise<readonly MailboxEntry[]> {
    const { partition } = this.lease;
    if (entries.length === 0) return (await this.#handleWithResults([])) ?? [];
    return handleInParts(entries, {
      handle: async (part, handling) =>
        (await (handling === USUAL ? this.#handleWithResults(part) : this.#handle(part, handling))) ?? [],
      isLost: () => this.#lost,
      unfit: ({ seq }, error) => this.#parts.warn(`entry ${seq} of ${partition} cannot be committed`, error),
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
      const { partition } = this.lease;
      this.#parts.warn(`${sent} results of ${partition} are sent: their turns failed`, toSvcError(thrown));
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
    const ahead = mayRunAhead ? this.#parts.starts.ahead(this.lease.partition) : null;
    let next: readonly MailboxEntry[] | null = null;
    try {
      const batch = await run.begin(beside ? this.#results.take(NONE) : []);
      if (batch !== null && (ahead === null || (await goOnAhead(run, batch, ahead, this.#results)))) {
        next = await this.#commitTurns(run, batch, ahead);
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

  async #commitTurns(
    run: BatchRun,
    batch: Batch,
    ahead: AheadOfCommit | null,
  ): Promise<readonly MailboxEntry[] | null> {
    const { payloads, locator, ledger, cache, starts } = this.#parts;
    const parts = { payloads, locator, ledger };
    const packed = await packCommit(
      batch,
      this.lease,
      run.cursorFrom(this.progress),
      run,
      ahead?.requests ?? NONE,
      parts,
    );
    const isOver = (): boolean => this.#lost || this.#parts.clock.monotonic() > this.#drainUntil;
    const starting = starts.of(packed.commit, packed.requests, ahead?.requests ?? NONE);
    const { commit } = starting;
    const outcome = await commitPatiently(this.#parts, commit, isOver).catch((thrown: unknown) => {
      starting.free();
      throw thrown;
    });
    if (outcome.kind !== 'committed') {
      // Fenced may be the answer to the repeat of a commit that had happened, or stand for none at all.
      if (outcome.kind === 'fenced') {
        starting.disown();
        this.lose();
      } else starting.free();
      return null;
    }
    const { partition } = this.lease;
    this.progress.moved(commit.upTo, outcome.beside, batch.writes.works.keys());
    for (const work of batch.writes.works.values()) {
      const { resident } = work;
      const { address, text, owned } = resident;
      resident.record = work.record;
      const written = packed.texts.get(address);
      if (written !== undefined) {
        if (owned && text !== null) this.#parts.replaced.add({ partition, address, text });
        resident.text = written;
        resident.owned = isAside(written);
        resident.size = packed.sizes.get(address) ?? written.length;
      }
      // A later holder may have changed it when the lease was lost meanwhile.
      if (resident.text !== null && !this.#lost) cache.put(resident);
    }
    const jobs = commit.effectsOpened.map(({ id, queue, address, fairnessKey }) => ({
      ...{ id, queue, address, partition },
      ...fairnessPart(fairnessKey),
    }));
    const { position } = this.progress;
    const projected = { ...run.handledAt(position), epoch: this.lease.epoch, rows: batch.rows };
    this.#on.committed({ commit, at: outcome.at, owes: outcome.owes, jobs, starting, projected });
    return outcome.next;
  }
}

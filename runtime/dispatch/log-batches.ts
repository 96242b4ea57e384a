import type { Address } from '../address.ts';
import { toSvcError } from '../errors.ts';
import { counted } from '../kit/counted.ts';
import { turnsFirst } from '../kit/waits.ts';
import type { MailboxEntry } from '../message.ts';
import type { ActorDraft } from '../turns/actor-draft.ts';
import type { Batch } from '../turns/batch.ts';
import type { PackedBatch } from '../turns/pack-commit.ts';
import { Spilling } from '../turns/payload.ts';
import { type Committing, commitTurns, packTurns, type TurnsToCommit } from './commit-turns.ts';
import type { KernelParts } from './kernel-parts.ts';
import { type BatchResults, LocalResults } from './local-results.ts';
import { type BatchInput, type BatchOwner, BatchRun, goOnAhead, type Handling } from './run-batch.ts';
import { SlowActors, unlocked } from './slow-actors.ts';

type Entries = readonly MailboxEntry[];

/** Runs work while no batch of the log is under way. */
type Between = (work: () => Promise<void>) => Promise<void>;

const NONE: ReadonlyMap<string, string> = new Map();

/** A batch whose turns ran while the batch before it was written. */
interface NextBatch {
  readonly turns: TurnsToCommit;
  readonly packed: PackedBatch;
  readonly results: BatchResults;
}

/**
 * The batches of one log: turns, then one commit. The log's server calls them one after another. Commits never overlap, but the
 * turns of a batch may run while the one before it is written (decision 0066).
 */
export class LogBatches {
  readonly results = new LocalResults();
  /** Actors that the batches do not wait for. Null with a store that postpones no messages. */
  readonly slow: SlowActors | null;
  readonly #parts: KernelParts;
  readonly #owner: BatchOwner;
  readonly #committing: Committing;
  #next: NextBatch | null = null;
  /** How long the turns of an entry or result took lately, milliseconds. */
  #inputMs = 0;

  /** `between` runs the commits of postponed messages. */
  constructor(parts: KernelParts, owner: BatchOwner, committing: Committing, between: Between) {
    this.#parts = parts;
    this.#owner = owner;
    this.#committing = committing;
    const { clock, warn } = parts;
    const handle = async (entries: Entries) => this.#resumeAll(await unlocked(parts.store, entries), between);
    this.slow = parts.store.sharedLogs === undefined ? null : new SlowActors({ clock, warn, handle });
  }

  /** Commits entries of the mailbox, or the first of them, together with waiting results. Returns the entries behind them. */
  async handle(entries: Entries): Promise<Entries> {
    const next = this.#next;
    this.#next = null;
    if (next !== null) return this.#commitNext(next, entries);
    const isSplit = this.#isLong(entries.length + this.results.count, 2);
    const first = isSplit ? entries.slice(0, Math.ceil(entries.length / 2)) : entries;
    const held = entries.slice(first.length);
    try {
      const behind = await this.#commitWithResults(first, held, isSplit);
      if (behind === null) return [];
      return held.length > 0 ? held : behind;
    } catch (thrown) {
      return this.#bisectBatch(first, thrown, async (part, handling) => {
        const next = handling === USUAL ? this.#commitWithResults(part) : this.#commit(part, handling, null);
        return (await next) ?? [];
      });
    }
  }

  /** Whether a batch was run that only has to be committed. */
  get isNextReady(): boolean {
    return this.#next !== null;
  }

  /** Drops the batch that was run and not committed. Its results wait again. */
  dropNext(): void {
    if (this.#next === null) return;
    const { turns, results } = this.#next;
    this.#next = null;
    this.#abandon(turns, results);
    results.putBack();
  }

  /**
   * Handles postponed messages beside the mailbox once their actors are loaded. Returns the handled ones. Only the
   * commit must run between batches, because no batch has messages of these actors.
   */
  async #resumeAll(entries: Entries, between: Between): Promise<Entries> {
    const handled: MailboxEntry[] = [];
    const commit: CommitPart = async (part, handling) => {
      if (await this.#resume(part, handling, between)) handled.push(...part);
      return [];
    };
    try {
      await commit(entries, USUAL);
    } catch (thrown) {
      await this.#bisectBatch(entries, thrown, commit);
    }
    return handled;
  }

  /**
   * Halves a batch that cannot be written until the entry at fault is alone. That entry is then a failing message like
   * any other (K6) and does not stop the entries behind it.
   */
  async #bisectBatch(entries: Entries, thrown: unknown, commit: CommitPart): Promise<Entries> {
    const [first, ...others] = entries;
    if (toSvcError(thrown).code === 'unavailable' || this.#owner.lost || first === undefined) throw thrown;
    if (others.length === 0) return this.#commitAlone(first, thrown, commit);
    const half = entries.slice(0, Math.ceil(entries.length / 2));
    try {
      return await commit(half, USUAL);
    } catch (again) {
      return this.#bisectBatch(half, again, commit);
    }
  }

  async #commitAlone(entry: MailboxEntry, thrown: unknown, commit: CommitPart): Promise<Entries> {
    const error = toSvcError(thrown);
    this.#parts.warn(`entry ${entry.seq} of ${this.#owner.lease.log} cannot be committed`, error);
    const failAll = thrown instanceof Error ? thrown.message : error.message;
    const careful: readonly Handling[] = [
      // A retry may replay many messages, so each is tried alone to find the one at fault.
      { drainLimit: 1 },
      { drainLimit: 1, failAll },
      { drainLimit: 1, deadLetterAll: error },
    ];
    for (const [step, handling] of careful.entries()) {
      try {
        return await commit([entry], handling);
      } catch (again) {
        if (toSvcError(again).code === 'unavailable' || step === careful.length - 1) throw again;
      }
    }
    return [];
  }

  /**
   * Runs and commits entries with waiting results. Null: nothing was written. Results that cannot be committed beside
   * the mailbox are sent as messages. `held` are entries that come behind; `isSplit` leaves half of the results.
   */
  async #commitWithResults(entries: Entries, held: Entries = [], isSplit = false): Promise<Entries | null> {
    const results = this.results.forBatch();
    results.take(NONE, isSplit ? Math.ceil(this.results.count / 2) : this.results.count);
    try {
      const next = await this.#commit(entries, USUAL, results, held);
      const sent = results.done(next !== null);
      if (next !== null || this.#owner.lost || sent === 0) return next;
    } catch (thrown) {
      const sent = results.done(false);
      if (sent === 0) throw thrown;
      this.#warnSent(sent, thrown);
    }
    return entries.length === 0 ? null : this.#commit(entries, USUAL, null);
  }

  /** Commits the batch that ran while the one before it was written. `held` are entries, of which it has the first or none. */
  async #commitNext({ turns, packed, results }: NextBatch, held: Entries): Promise<Entries> {
    const behind = held.slice(turns.run.entries.length);
    try {
      const next = await this.#write(turns, packed, results, behind);
      results.done(next !== null);
      // Not written: the usual way handles the entries again.
      if (next === null) return held;
      return behind.length > 0 ? behind : next;
    } catch (thrown) {
      const sent = results.done(false);
      if (sent === 0 && held.length === 0) throw thrown;
      if (sent > 0) this.#warnSent(sent, thrown);
      return held;
    }
  }

  /** The results come again as messages, and their failure is handled there. */
  #warnSent(sent: number, thrown: unknown): void {
    this.#parts.warn(
      `${this.#owner.lease.log}: ${counted(sent, 'result')} could not be committed, now sent as ${sent === 1 ? 'a message' : 'messages'}`,
      toSvcError(thrown),
    );
  }

  /**
   * Runs the turns and writes them in one commit. Null: nothing was written. With `results` it takes waiting results,
   * runs effects ahead, and runs the next batch while the store writes. `held` are entries that come behind.
   */
  async #commit(
    entries: Entries,
    handling: Handling,
    results: BatchResults | null,
    held: Entries = [],
  ): Promise<Entries | null> {
    for (;;) {
      const turns = await this.#run({ entries, slow: this.#postponing() }, handling, results);
      if (turns === null) return null;
      const packed = await this.#packOrAbandon(turns, results);
      // Storing large states takes too long. Their actors are marked as slow now, so the next attempt postpones them.
      if (packed !== null) return this.#write(turns, packed, results, held);
    }
  }

  /** Runs the turns of a batch. Null: the lease was lost. */
  async #run(input: BatchInput, handling: Handling, results: BatchResults | null): Promise<TurnsToCommit | null> {
    const { starts, takesResults, clock } = this.#parts;
    const begunAt = clock.monotonic();
    const run = new BatchRun(this.#parts, this.#owner, handling, input);
    const taken = results?.taken ?? [];
    const ahead = results !== null && takesResults() ? starts.ahead() : null;
    let hasRun = false;
    try {
      if (!(await run.deliver(run.first, taken))) return null;
      if (ahead !== null && results !== null && !(await goOnAhead(run, ahead, results))) return null;
      results?.refuseSome(run.refused);
      const inputMs = (clock.monotonic() - begunAt) / Math.max(1, run.entries.length + taken.length);
      this.#inputMs += (inputMs - this.#inputMs) / 4;
      hasRun = true;
      return { run, ahead };
    } finally {
      if (!hasRun) this.#abandon({ run, ahead }, results);
    }
  }

  async #packOrAbandon(turns: TurnsToCommit, results: BatchResults | null): Promise<PackedBatch | null> {
    let packed: PackedBatch | null = null;
    try {
      packed = await this.#pack(turns);
      return packed;
    } finally {
      if (packed === null) this.#abandon(turns, results);
    }
  }

  /** Drops the turns of a batch that is not written. */
  #abandon({ run, ahead }: TurnsToCommit, results: BatchResults | null): void {
    ahead?.end(false);
    if (ahead !== null) results?.drop(ahead.requests);
    run.forget();
  }

  /** Writes a batch, and runs the next one meanwhile. Returns entries behind it unless some are held. Null: nothing was written. */
  async #write(
    turns: TurnsToCommit,
    packed: PackedBatch,
    results: BatchResults | null,
    held: Entries,
  ): Promise<Entries | null> {
    const { run, ahead } = turns;
    let written: Entries | null = null;
    try {
      const readAhead = held.length > 0 ? 0 : this.#parts.batchLimit;
      const writing = commitTurns(this.#parts, this.#committing, turns, packed, readAhead).then((entries) => {
        if (entries === null) return null;
        // Effects and their slots do not wait for the next batch.
        ahead?.end(true);
        results?.done(true);
        return entries;
      });
      const mayOverlap = results !== null && Number.isFinite(this.#parts.overlapMs);
      const running = mayOverlap ? this.#runNext(run, held, writing) : null;
      const [next, outcome] = await Promise.allSettled([running, writing]);
      // A batch that cannot run now runs in the usual way later, where its failure is handled.
      this.#next = next.status === 'fulfilled' ? next.value : null;
      if (outcome.status === 'rejected') throw outcome.reason;
      written = outcome.value;
      if (written !== null) this.slow?.add(run.postponed);
      return written;
    } finally {
      if (written === null) {
        this.#abandon(turns, results);
        this.dropNext();
      }
    }
  }

  /**
   * Runs the next batch while the commit of `inFlight` is under way, so that the store and this process work at the same
   * time. It has no actor of that commit, because their states are not written yet. Null: there is too little to do.
   */
  async #runNext(inFlight: BatchRun, held: Entries, writing: Promise<unknown>): Promise<NextBatch | null> {
    // Messages of slow actors go first, and their actors are known as slow only after the commit.
    if (inFlight.postponed.length > 0) return null;
    const excluded = new Set(inFlight.places.keys());
    if (!(await this.#isEnough(() => held.length + this.results.countBeside(excluded), writing))) return null;
    if (this.#owner.lost) return null;
    const results = this.results.forBatch(excluded);
    let next: NextBatch | null = null;
    try {
      results.take(NONE);
      const turns = await this.#run({ entries: held, slow: this.#postponing(), excluded }, USUAL, results);
      if (turns === null) return null;
      if (turns.run.isEmpty) {
        this.#abandon(turns, results);
        return null;
      }
      const packed = await this.#packOrAbandon(turns, results);
      if (packed !== null) next = { turns, packed, results };
      return next;
    } finally {
      if (next === null) results.putBack();
    }
  }

  /** Waits until there is enough for the next batch. False: the commit under way ended first. */
  async #isEnough(inputs: () => number, writing: Promise<unknown>): Promise<boolean> {
    let isOver = false;
    let wake = (): void => {};
    const ended = (): void => {
      isOver = true;
      wake();
    };
    const over = writing.then(ended, ended);
    this.results.onMore(() => wake());
    for (;;) {
      // Calls to the store leave with the end of this turn of the event loop, and results that come together are run together.
      if (this.#isLong(inputs(), 1)) await Promise.race([over, turnsFirst()]);
      if (isOver || this.#isLong(inputs(), 1)) return !isOver;
      await new Promise<void>((resume) => {
        wake = resume;
      });
    }
  }

  /** Whether the turns of these inputs take long enough for `batches` batches that overlap. */
  #isLong(inputs: number, batches: number): boolean {
    return inputs >= batches && inputs * this.#inputMs >= batches * this.#parts.overlapMs;
  }

  /** The slow actors. Null while a program that does not know postponed messages may take the log. */
  #postponing(): SlowActors | null {
    return this.#parts.store.sharedLogs?.mayBeMade() === true ? this.slow : null;
  }

  /** Packs the turns into a commit. Null: storing large payloads takes too long. */
  async #pack(turns: TurnsToCommit): Promise<PackedBatch | null> {
    const { run } = turns;
    const slow = this.#postponing();
    if (slow === null || slow.isFull) return packTurns(this.#parts, this.#committing, turns);
    const storing = new Spilling(this.#parts.payloads, this.#parts.clock);
    const packing = packTurns({ ...this.#parts, payloads: storing.payloads }, this.#committing, turns);
    const packed = await storing.within(packing, (address, text) => {
      const partition = run.places.get(address);
      if (partition !== undefined) this.#parts.replaced.add({ partition, address, text });
    });
    if (packed !== null) return packed;
    const heavy = heavyOf(run.batch.writes, storing.actors);
    for (const address of heavy) slow.noteHeavy(address);
    return heavy.length > 0 ? null : packTurns(this.#parts, this.#committing, turns);
  }

  /** Commits postponed messages. False: nothing was written. */
  async #resume(resumed: Entries, handling: Handling, between: Between): Promise<boolean> {
    const run = new BatchRun(this.#parts, this.#owner, handling, { entries: [], resumed, slow: null });
    let isWritten = false;
    try {
      if (!(await run.deliver(run.first, []))) return false;
      const turns = { run, ahead: null };
      const packed = await packTurns(this.#parts, this.#committing, turns);
      await between(async () => {
        // Entries behind the cursor are left to the batches.
        isWritten = (await commitTurns(this.#parts, this.#committing, turns, packed, 0)) !== null;
      });
      return isWritten;
    } finally {
      if (!isWritten) run.forget();
    }
  }
}

/** Actors of a batch whose states or messages are stored in Blobs. A message is stored for its receiver. */
function heavyOf({ drafts, sends }: Batch['writes'], stored: ReadonlySet<Address>): Address[] {
  const senders = new Set(sends.flatMap(({ from, to }) => (from !== null && stored.has(to) ? [from] : [])));
  const isHeavy = ({ activation: { address, owned } }: ActorDraft): boolean =>
    owned || stored.has(address) || senders.has(address);
  return [...drafts.values()].filter(isHeavy).map(({ activation }) => activation.address);
}

/** Runs and commits entries. Returns the entries read ahead. */
type CommitPart = (entries: Entries, handling: Handling) => Promise<Entries>;

const USUAL: Handling = { drainLimit: 100 };

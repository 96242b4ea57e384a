import type { Address, Partition } from '../address.ts';
import { type SvcError, toSvcError } from '../errors.ts';
import { sleep } from '../kit/waits.ts';
import type { MailboxEntry } from '../message.ts';
import type { ActorDraft } from '../turns/actor-draft.ts';
import type { Batch } from '../turns/batch.ts';
import { decodeMessageText } from '../turns/codec.ts';
import type { PackedBatch } from '../turns/pack-commit.ts';
import { isSpilled, Spilling } from '../turns/payload.ts';
import { type Committing, commitTurns, packTurns, type TurnsToCommit } from './commit-turns.ts';
import type { KernelParts } from './kernel-parts.ts';
import { type LocalResult, LocalResults } from './local-results.ts';
import { type BatchOwner, BatchRun, goOnAhead, type Handling } from './run-batch.ts';
import { SlowActors } from './slow-actors.ts';

type Entries = readonly MailboxEntry[];

/** Runs work while no batch of the log is under way. */
type Between = (work: () => Promise<void>) => Promise<void>;

const NONE: ReadonlyMap<string, string> = new Map();

/** Batches of one log: turns, then one commit. Who serves the log calls for them one after another. */
export class LogBatches {
  readonly results = new LocalResults();
  /** Actors that the batches do not wait for; null with a store that postpones no messages. */
  readonly slow: SlowActors | null;
  readonly #parts: KernelParts;
  readonly #holder: BatchOwner;
  readonly #committing: Committing;

  /** `between`: for commits of what was postponed. */
  constructor(parts: KernelParts, holder: BatchOwner, committing: Committing, between: Between) {
    this.#parts = parts;
    this.#holder = holder;
    this.#committing = committing;
    const { clock, warn } = parts;
    const handle = (entries: Entries) => this.#resumeAll(entries, between);
    this.slow = parts.store.sharedLogs === undefined ? null : new SlowActors({ clock, warn, handle });
  }

  /** Handles entries of the mailbox and results that wait; answers the entries that wait behind them. */
  async handle(entries: Entries): Promise<Entries> {
    if (entries.length === 0) return (await this.#handleWithResults([])) ?? [];
    return bisectBatch(entries, {
      handle: async (part, handling) =>
        (await (handling === USUAL ? this.#handleWithResults(part) : this.#handle(part, handling, false))) ?? [],
      isLost: () => this.#holder.lost,
      unfit: (entry, error) => this.#unfit(entry, error),
    });
  }

  /**
   * Handles postponed messages beside the mailbox, and waits for their actors; answers those that it handled. Only the commit
   * has to be between batches, since no other batch has messages of these actors.
   */
  async #resumeAll(entries: Entries, between: Between): Promise<Entries> {
    const handled: MailboxEntry[] = [];
    await bisectBatch(entries, {
      handle: async (part, handling) => {
        if (await this.#resume(part, handling, between)) handled.push(...part);
        return [];
      },
      isLost: () => this.#holder.lost,
      unfit: (entry, error) => this.#unfit(entry, error),
    });
    return handled;
  }

  #unfit({ seq }: MailboxEntry, error: unknown): void {
    this.#parts.warn(`entry ${seq} of ${this.#holder.lease.log} cannot be committed`, error);
  }

  /** Null: nothing was written. Results that cannot be handled beside the mailbox are sent like any other. */
  async #handleWithResults(entries: Entries): Promise<Entries | null> {
    const { results } = this;
    try {
      const next = await this.#handle(entries, USUAL, true);
      const sent = results.done(next !== null);
      if (next !== null || this.#holder.lost || sent === 0) return next;
    } catch (thrown) {
      const sent = results.done(false);
      if (sent === 0) throw thrown;
      // Sent like any other it comes again, and what is wrong with it is dealt with there.
      this.#parts.counts.resultsFailed += 1;
      this.#parts.warn(`${sent} results of ${this.#holder.lease.log} are sent: their turns failed`, toSvcError(thrown));
    }
    return entries.length === 0 ? null : this.#handle(entries, USUAL, false);
  }

  /** Null: nothing was written. `beside`: with results that are there, and effects that are run ahead. */
  async #handle(entries: Entries, handling: Handling, beside: boolean): Promise<Entries | null> {
    if (beside) this.results.take(NONE);
    for (;;) {
      const next = await this.#attempt(entries, handling, beside ? this.results.taken : null);
      if (next !== 'slow') return next;
    }
  }

  /** Null while a program may take the log that does not know postponed messages. */
  #postponing(): SlowActors | null {
    return this.#parts.store.sharedLogs?.mayBeMade() === true ? this.slow : null;
  }

  /** `slow`: nothing was written, and whose states take too long to be stored is known now. */
  async #attempt(
    entries: Entries,
    handling: Handling,
    results: readonly LocalResult[] | null,
  ): Promise<Entries | null | 'slow'> {
    const run = new BatchRun(this.#parts, this.#holder, handling, { entries, slow: this.#postponing() });
    const ahead = results !== null && this.#parts.takesResults() ? this.#parts.starts.ahead() : null;
    let next: Entries | null = null;
    try {
      const batch = await run.begin(results ?? []);
      if (batch === null || (ahead !== null && !(await goOnAhead(run, batch, ahead, this.results)))) return null;
      this.results.refuseSome(run.refused);
      const packed = await this.#pack({ run, batch, ahead });
      if (packed === null) return 'slow';
      next = await commitTurns(this.#parts, this.#committing, { run, batch, ahead }, packed, this.#parts.batchLimit);
      if (next !== null) this.slow?.add(run.postponed);
      return next;
    } finally {
      ahead?.end(next !== null);
      if (next === null) {
        if (ahead !== null) this.results.drop(ahead.requests);
        run.forget();
      }
    }
  }

  /** Null: storing what is large takes too long. */
  async #pack(turns: TurnsToCommit): Promise<PackedBatch | null> {
    const slow = this.#postponing();
    if (slow === null || slow.isFull) return packTurns(this.#parts, this.#committing, turns);
    const storing = new Spilling(this.#parts.payloads, this.#parts.clock);
    const packing = packTurns({ ...this.#parts, payloads: storing.payloads }, this.#committing, turns);
    const packed = await storing.within(packing, (address, text) => {
      const partition = turns.run.places.get(address);
      if (partition !== undefined) this.#parts.replaced.add({ partition, address, text });
    });
    if (packed !== null) return packed;
    const heavy = heavyOf(turns.batch.writes, storing.actors);
    for (const address of heavy) slow.noteHeavy(address);
    return heavy.length > 0 ? null : packTurns(this.#parts, this.#committing, turns);
  }

  /** False: nothing was written. */
  async #resume(resumed: Entries, handling: Handling, between: Between): Promise<boolean> {
    const run = new BatchRun(this.#parts, this.#holder, handling, { entries: [], resumed, slow: null });
    let isWritten = false;
    try {
      const batch: Batch | null = await run.begin([]);
      if (batch === null) return false;
      const turns = { run, batch, ahead: null };
      const packed = await packTurns(this.#parts, this.#committing, turns);
      await between(async () => {
        // What waits behind the cursor is for the batches.
        isWritten = (await commitTurns(this.#parts, this.#committing, turns, packed, 0)) !== null;
      });
      return isWritten;
    } finally {
      if (!isWritten) run.forget();
    }
  }
}

/** Actors of a batch whose states or messages are stored aside. A message is stored for its receiver. */
function heavyOf({ drafts, sends }: Batch['writes'], stored: ReadonlySet<Address>): Address[] {
  const senders = new Set(sends.flatMap(({ from, to }) => (from !== null && stored.has(to) ? [from] : [])));
  const isHeavy = ({ activation: { address, owned } }: ActorDraft): boolean =>
    owned || stored.has(address) || senders.has(address);
  return [...drafts.values()].filter(isHeavy).map(({ activation }) => activation.address);
}

interface Bisected {
  /** Runs and commits entries; answers those read ahead. */
  readonly handle: (entries: Entries, handling: Handling) => Promise<Entries>;
  readonly isLost: () => boolean;
  /** Told about an entry that cannot be committed. */
  readonly unfit: (entry: MailboxEntry, error: SvcError) => void;
}

const USUAL: Handling = { drainLimit: 100 };

/**
 * A batch that cannot be written is halved until the entry that makes it so stands alone. That one is a failing
 * message like any other (K6); it never stops those behind it.
 */
async function bisectBatch(entries: Entries, how: Bisected): Promise<Entries> {
  try {
    return await how.handle(entries, USUAL);
  } catch (thrown) {
    if (toSvcError(thrown).code === 'unavailable' || how.isLost()) throw thrown;
    const [first, ...others] = entries;
    if (others.length > 0) return bisectBatch(entries.slice(0, Math.ceil(entries.length / 2)), how);
    return first === undefined ? [] : handleAlone(first, thrown, how);
  }
}

async function handleAlone(entry: MailboxEntry, thrown: unknown, { handle, unfit }: Bisected): Promise<Entries> {
  const error = toSvcError(thrown);
  unfit(entry, error);
  const failAll = thrown instanceof Error ? thrown.message : error.message;
  const careful: readonly Handling[] = [
    // A retry that drains many messages: find the one.
    { drainLimit: 1 },
    { drainLimit: 1, failAll },
    { drainLimit: 1, deadLetter: error },
  ];
  for (const [step, handling] of careful.entries()) {
    try {
      return await handle([entry], handling);
    } catch (again) {
      if (toSvcError(again).code === 'unavailable' || step === careful.length - 1) throw again;
    }
  }
  return [];
}

const PAGE = 256;

const LOOK_AGAIN_MS = 100;

const WARN_EVERY = 100;

/**
 * Takes up the messages that were postponed before a log was taken: their actors are slow as before, so that what is in the log
 * for them comes behind. It waits for a store that does not answer, unless it `isOver` with the log.
 */
export async function takePostponed(
  { store, clock, warn }: Pick<KernelParts, 'store' | 'clock' | 'warn'>,
  partitions: readonly Partition[],
  slow: SlowActors,
  isOver: () => boolean,
): Promise<void> {
  for (const partition of partitions) {
    let [after, failures, isLeft] = [0, 0, true];
    while (isLeft && !isOver()) {
      try {
        const page = (await store.sharedLogs?.postponed(partition, after, PAGE)) ?? [];
        slow.add(
          page.map((entry) => ({ entry: { ...entry, partition }, key: slow.keyOf(entry.body, receiverOf(entry)) })),
        );
        after = page.at(-1)?.seq ?? after;
        isLeft = page.length > 0;
      } catch (thrown) {
        if (failures % WARN_EVERY === 0) warn(`messages postponed in ${partition} wait`, toSvcError(thrown));
        failures += 1;
        await sleep(clock, LOOK_AGAIN_MS);
      }
    }
  }
}

/** Null when its body is stored aside, or cannot be read. */
function receiverOf({ body }: MailboxEntry): Address | null {
  if (isSpilled(body)) return null;
  try {
    return decodeMessageText(body).to;
  } catch {
    // Who handles it dead-letters it.
    return null;
  }
}

import type { Address, Partition } from '../address.ts';
import { toSvcError } from '../errors.ts';
import { counted } from '../kit/counted.ts';
import { sleep } from '../kit/waits.ts';
import type { MailboxEntry } from '../message.ts';
import type { ActorDraft } from '../turns/actor-draft.ts';
import type { Batch } from '../turns/batch.ts';
import { decodeMessageText } from '../turns/codec.ts';
import type { PackedBatch } from '../turns/pack-commit.ts';
import { isSpilled, Spilling } from '../turns/payload.ts';
import type { AheadOfCommit } from './ahead-of-commit.ts';
import { type Committing, commitTurns, packTurns } from './commit-turns.ts';
import type { KernelParts } from './kernel-parts.ts';
import { LocalResults } from './local-results.ts';
import { type BatchOwner, BatchRun, goOnAhead, type Handling } from './run-batch.ts';
import { SlowActors } from './slow-actors.ts';

type Entries = readonly MailboxEntry[];

/** Runs work while no batch of the log is under way. */
type Between = (work: () => Promise<void>) => Promise<void>;

const NONE: ReadonlyMap<string, string> = new Map();

/** The batches of one log: turns, then one commit. The log's server calls them one after another. */
export class LogBatches {
  readonly results = new LocalResults();
  /** Actors that the batches do not wait for. Null with a store that postpones no messages. */
  readonly slow: SlowActors | null;
  readonly #parts: KernelParts;
  readonly #owner: BatchOwner;
  readonly #committing: Committing;

  /** `between` runs the commits of postponed messages. */
  constructor(parts: KernelParts, owner: BatchOwner, committing: Committing, between: Between) {
    this.#parts = parts;
    this.#owner = owner;
    this.#committing = committing;
    const { clock, warn } = parts;
    const handle = (entries: Entries) => this.#resumeAll(entries, between);
    this.slow = parts.store.sharedLogs === undefined ? null : new SlowActors({ clock, warn, handle });
  }

  /** Commits entries of the mailbox together with waiting results. Returns the entries behind them. */
  async handle(entries: Entries): Promise<Entries> {
    try {
      return (await this.#commitWithResults(entries)) ?? [];
    } catch (thrown) {
      return this.#bisectBatch(entries, thrown, async (part, handling) => {
        const next = handling === USUAL ? this.#commitWithResults(part) : this.#commit(part, handling, false);
        return (await next) ?? [];
      });
    }
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
   * the mailbox are sent as messages.
   */
  async #commitWithResults(entries: Entries): Promise<Entries | null> {
    const { results } = this;
    try {
      const next = await this.#commit(entries, USUAL, true);
      const sent = results.done(next !== null);
      if (next !== null || this.#owner.lost || sent === 0) return next;
    } catch (thrown) {
      const sent = results.done(false);
      if (sent === 0) throw thrown;
      // The result comes again as a message, and its failure is handled there.
      this.#parts.counts.resultsFailed += 1;
      this.#parts.warn(
        `${this.#owner.lease.log}: ${counted(sent, 'result')} could not be committed, now sent as ${sent === 1 ? 'a message' : 'messages'}`,
        toSvcError(thrown),
      );
    }
    return entries.length === 0 ? null : this.#commit(entries, USUAL, false);
  }

  /**
   * Runs the turns and writes them in one commit. Null: nothing was written. `withResults` also takes waiting results
   * and runs effects ahead.
   */
  async #commit(entries: Entries, handling: Handling, withResults: boolean): Promise<Entries | null> {
    const { starts, takesResults, batchLimit } = this.#parts;
    if (withResults) this.results.take(NONE);
    for (;;) {
      const run = new BatchRun(this.#parts, this.#owner, handling, { entries, slow: this.#postponing() });
      const ahead = withResults && takesResults() ? starts.ahead() : null;
      let next: Entries | null = null;
      try {
        if (!(await run.deliver(run.first, withResults ? this.results.taken : []))) return null;
        if (ahead !== null && !(await goOnAhead(run, ahead, this.results))) return null;
        this.results.refuseSome(run.refused);
        const packed = await this.#pack(run, ahead);
        // Storing large states takes too long. Their actors are marked as slow now, so the next attempt postpones them.
        if (packed === null) continue;
        next = await commitTurns(this.#parts, this.#committing, { run, ahead }, packed, batchLimit);
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
  }

  /** The slow actors. Null while a program that does not know postponed messages may take the log. */
  #postponing(): SlowActors | null {
    return this.#parts.store.sharedLogs?.mayBeMade() === true ? this.slow : null;
  }

  /** Packs the turns into a commit. Null: storing large payloads takes too long. */
  async #pack(run: BatchRun, ahead: AheadOfCommit | null): Promise<PackedBatch | null> {
    const turns = { run, ahead };
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

const PAGE = 256;

const LOOK_AGAIN_MS = 100;

const WARN_EVERY = 100;

/**
 * Reads the messages that were postponed before a log was taken. Their actors count as slow, so that messages for them
 * in the log come behind. It waits for a store that does not answer, until `isOver`.
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
        if (failures % WARN_EVERY === 0)
          warn(`the postponed messages of ${partition} could not be read; they are tried again`, toSvcError(thrown));
        failures += 1;
        await sleep(clock, LOOK_AGAIN_MS);
      }
    }
  }
}

/** The receiver of an entry. Null when the body is in Blobs or cannot be decoded. */
function receiverOf({ body }: MailboxEntry): Address | null {
  if (isSpilled(body)) return null;
  try {
    return decodeMessageText(body).to;
  } catch {
    // The batch that handles the entry dead-letters it.
    return null;
  }
}

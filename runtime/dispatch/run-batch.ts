import type { EffectAttemptRef, Lease } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import { SvcError } from '../errors.ts';
import { resultPosition } from '../leases.ts';
import type { MailboxEntry, Message } from '../message.ts';
import type { ProjectedCommit } from '../projection/views.ts';
import { Batch } from '../turns/batch.ts';
import { isReadable, UNREADABLE } from '../turns/loading.ts';
import { isSpilled } from '../turns/payload.ts';
import type { AheadOfCommit } from './ahead-of-commit.ts';
import type { KernelParts } from './kernel-parts.ts';
import type { LocalResult, LocalResults } from './local-results.ts';
import type { Progress } from './progress.ts';
import { type ReadyMessages, readyMessages } from './ready-messages.ts';
import type { Postponed, SlowActors } from './slow-actors.ts';
import type { StoreClock } from './store-clock.ts';

/** How the entries of a batch are handled. */
export interface Handling {
  /** Most messages set aside that one retry drains. */
  readonly drainLimit: number;
  /** Every message counts as failed with this error: what its turn decided cannot be written. */
  readonly failAll?: string;
  /** Nothing is run, every entry is dead-lettered. */
  readonly deadLetter?: SvcError;
}

const NONE: ReadonlyMap<string, unknown> = new Map();

/** Whose batch it is: the server of a log. */
export interface BatchOwner {
  readonly lease: Lease;
  readonly lost: boolean;
  readonly clock: Pick<StoreClock, 'turn' | 'now'>;
  /** Number of the last entry when the log was taken. */
  readonly takenAt: number;
  /** Where the actor of an entry lives. */
  readonly partitionOf: (entry: MailboxEntry) => Partition;
}

/** What a batch takes. */
export interface BatchInput {
  /** Of the mailbox. */
  readonly entries: readonly MailboxEntry[];
  /** Postponed earlier, and handled beside the mailbox. */
  readonly resumed?: readonly MailboxEntry[];
  /** Messages of slow actors are postponed. Null: every actor is waited for. */
  readonly slow: SlowActors | null;
}

/** A message that the batch took; `message` is null when its body was not read in time. */
interface Taken {
  readonly entry: MailboxEntry;
  readonly message: Message | SvcError | null;
}

/** A batch in the making: each message has one turn, those of the mailbox first, then those handled beside it. */
export class BatchRun {
  /** Of the mailbox. */
  readonly entries: readonly MailboxEntry[];
  /** Handled beside the mailbox: results, and messages postponed earlier. Their numbers are known with the commit. */
  readonly results: MailboxEntry[] = [];
  /** Effects of these results that the store has. */
  readonly settles: (EffectAttemptRef & { readonly partition: Partition })[] = [];
  readonly resumed: readonly MailboxEntry[];
  /** Entries of the mailbox that are left for later. */
  readonly postponed: Postponed[] = [];
  /** Results of slow actors: they are sent like any other, and wait in the mailbox. */
  readonly refused: LocalResult[] = [];
  /** Where the actors of its messages live. */
  readonly places = new Map<Address, Partition>();
  readonly #taken: Taken[] = [];
  readonly #parts: KernelParts;
  readonly #holder: BatchOwner;
  readonly #handling: Handling;
  readonly #slow: SlowActors | null;

  constructor(parts: KernelParts, holder: BatchOwner, handling: Handling, input: BatchInput) {
    this.#parts = parts;
    this.#holder = holder;
    this.#handling = handling;
    this.entries = input.entries;
    this.resumed = input.resumed ?? [];
    this.#slow = input.slow;
  }

  /** Runs the first turns. Null when the lease was lost meanwhile: what is cached may be a later holder's in this very process. */
  async begin(results: readonly LocalResult[]): Promise<Batch | null> {
    const { clock, retry } = this.#parts;
    const first = [...this.entries, ...this.resumed, ...this.#entriesOf(results)];
    const now = this.#holder.clock.turn(Math.max(0, ...first.map((entry) => entry.at)));
    const { drainLimit, failAll } = this.#handling;
    const batch = new Batch(now, () => clock.monotonic() * 1_000, { ...retry, drainLimit, failAll });
    this.results.push(...this.resumed);
    return (await this.#run(batch, [...this.entries, ...this.resumed], results, NONE)) ? batch : null;
  }

  /**
   * Runs the turns of results that came since. `ahead`: effects of this very batch, of which the store need not hear any
   * more. False when the lease was lost meanwhile.
   */
  goOn(batch: Batch, results: readonly LocalResult[], ahead: ReadonlyMap<string, unknown>): Promise<boolean> {
    const { effectsCancelled } = batch.writes;
    const wanted = results.filter(({ id }) => !ahead.has(id) || !effectsCancelled.includes(id));
    return this.#run(batch, [], wanted, ahead);
  }

  /**
   * Messages that can be read and were taken from the mailbox. One whose body is stored aside counts as taken when it is
   * handled: before, it may not have been read.
   */
  get messages(): readonly Message[] {
    const postponed = new Set(this.postponed.map(({ entry }) => entry.seq));
    const isCounted = ({ seq, body }: MailboxEntry): boolean =>
      isSpilled(body) ? !postponed.has(seq) : !this.resumed.some((one) => one.seq === seq);
    return this.#taken.flatMap(({ entry, message }) => (isReadable(message) && isCounted(entry) ? [message] : []));
  }

  /** What its commit says of mailbox and results. */
  cursorFrom({ cursor: after, beside }: Pick<Progress, 'cursor' | 'beside'>) {
    const last = this.entries[this.entries.length - 1];
    return {
      ...{ after, upTo: last?.seq ?? after, beside },
      ...(last === undefined ? {} : { upToAt: last.at }),
      ...(this.results.length === 0 ? {} : { results: this.results.length }),
    };
  }

  /** What came in, for the projector; `position` is that of the commit's row. */
  handledAt(position: number): Pick<ProjectedCommit, 'upTo' | 'entries' | 'targets' | 'partitions'> {
    const count = this.results.length;
    const results = this.results.map((one, at) => ({ ...one, seq: resultPosition(position, at, count) }));
    const postponed = new Set(this.postponed.map(({ entry }) => entry.seq));
    const targets = this.#taken.map(({ entry, message }) =>
      isReadable(message) && !postponed.has(entry.seq) ? message.to : UNREADABLE,
    );
    const entries = [...this.entries, ...results];
    return { upTo: position, entries, targets, partitions: entries.map(this.#holder.partitionOf) };
  }

  #entriesOf(results: readonly LocalResult[]): MailboxEntry[] {
    const at = this.#holder.clock.now();
    return results.map(({ delivery, partition }) => ({ seq: 0, at, body: delivery.body, partition }));
  }

  /** Runs the turns of entries, then those of results. */
  async #run(
    batch: Batch,
    entries: readonly MailboxEntry[],
    results: readonly LocalResult[],
    ahead: ReadonlyMap<string, unknown>,
  ): Promise<boolean> {
    const all = [...entries, ...this.#entriesOf(results)];
    const ready = await readyMessages(this.#parts, {
      entries: all,
      drafts: batch.writes.drafts,
      placeOf: (to, entry) => this.#placeOf(to, entry),
      takenAt: this.#holder.takenAt,
      drainLimit: this.#handling.drainLimit,
      slow: this.#slow,
    });
    if (this.#holder.lost) return false;
    for (const [index, entry] of all.entries()) {
      const message = ready.messages[index] ?? null;
      const result = results[index - entries.length];
      const slow = ready.slow.get(index);
      if (slow !== undefined && result !== undefined) {
        this.refused.push(result);
        continue;
      }
      this.#taken.push({ entry, message });
      if (result !== undefined) this.#take(batch, entry, result, ahead);
      if (slow !== undefined) this.#postpone(batch, entry, slow);
      else if (message !== null) this.#deliver(batch, entry, message, ready);
    }
    return true;
  }

  #placeOf(to: Address, entry: MailboxEntry): Partition {
    const partition = this.places.get(to) ?? this.#holder.partitionOf(entry);
    this.places.set(to, partition);
    return partition;
  }

  #take(batch: Batch, entry: MailboxEntry, result: LocalResult, ahead: ReadonlyMap<string, unknown>): void {
    const { id, attempt, partition } = result;
    this.results.push(entry);
    if (ahead.has(id)) batch.writes.effectsEnded.add(id);
    else this.settles.push({ id, attempt, partition });
  }

  #postpone(batch: Batch, entry: MailboxEntry, key: string): void {
    this.postponed.push({ entry: { ...entry, partition: this.#holder.partitionOf(entry) }, key });
    batch.postpone(entry);
  }

  #deliver(
    batch: Batch,
    entry: MailboxEntry,
    message: Message | SvcError,
    { activations, bodies }: ReadyMessages,
  ): void {
    const activation = isReadable(message) ? (activations.get(message.to) ?? null) : message;
    if (message instanceof SvcError) batch.deadLetter(entry, null, message);
    else if (this.#handling.deadLetter !== undefined) batch.deadLetter(entry, message, this.#handling.deadLetter);
    else if (activation instanceof SvcError) batch.deadLetter(entry, message, activation);
    else batch.deliver(entry, message, activation, bodies);
  }

  /** Handlers may have touched what they were given, and nothing of it was written. */
  forget(): void {
    for (const { message } of this.#taken) if (isReadable(message)) this.#parts.cache.drop(message.to);
  }
}

/** Results that one batch handles: beyond, it is written first. */
const MOST_RESULTS = 256;

/**
 * Runs effects ahead, and the turns of their results as long as these come at once: steps that take no time are written by
 * one commit. False when the lease was lost meanwhile.
 */
export async function goOnAhead(
  run: BatchRun,
  batch: Batch,
  ahead: AheadOfCommit,
  waiting: Pick<LocalResults, 'take' | 'tookAhead'>,
): Promise<boolean> {
  while (ahead.start(batch.writes) && run.results.length < MOST_RESULTS) {
    await new Promise<void>((resume) => void setImmediate(resume));
    const results = waiting.take(ahead.requests);
    if (results.length === 0) break;
    if (!(await run.goOn(batch, results, ahead.requests))) return false;
    waiting.tookAhead(run.refused);
  }
  return true;
}

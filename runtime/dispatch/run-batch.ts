import type { EffectAttemptRef, Lease, MailboxEntry } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import { SvcError } from '../errors.ts';
import { resultPosition } from '../journal-position.ts';
import type { Message } from '../message.ts';
import type { ProjectedCommit } from '../projection/projected-commit.ts';
import { Batch } from '../turns/batch.ts';
import { decodeEntry, isReadable, loadResidents, setAside, UNREADABLE } from '../turns/loading.ts';
import type { AheadOfCommit } from './ahead-of-commit.ts';
import type { KernelParts } from './kernel-parts.ts';
import type { OwnResult, OwnResults } from './own-results.ts';
import type { Progress } from './progress.ts';
import type { StoreClock } from './store-clock.ts';

/** How the entries of a batch are handled. */
export interface Handling {
  /** Most messages set aside that one retry drains. */
  readonly drainLimit: number;
  /** Every message counts as failed with this error: what its turn decided cannot be written. */
  readonly failAll?: string;
  /** Nothing is run, every entry is dead-lettered. */
  readonly bury?: SvcError;
}

interface Holder {
  readonly lease: Lease;
  readonly lost: boolean;
  readonly clock: Pick<StoreClock, 'turn' | 'now'>;
  /** Number of the last entry when the log was taken. */
  readonly takenAt: number;
  /** Where the actor of an entry lives. */
  readonly partitionOf: (entry: MailboxEntry) => Partition;
}

/** A batch in the making: each message has one turn, those of the mailbox first, then results handled beside it. */
export class BatchRun {
  /** Of the mailbox. */
  readonly entries: readonly MailboxEntry[];
  /** Handled beside the mailbox; their numbers are known with the commit. */
  readonly results: MailboxEntry[] = [];
  /** Effects of these results that the store has. */
  readonly settles: (EffectAttemptRef & { readonly partition: Partition })[] = [];
  /** Where the actors of its messages live. */
  readonly places = new Map<Address, Partition>();
  readonly #messages: (Message | SvcError)[] = [];
  readonly #parts: KernelParts;
  readonly #holder: Holder;
  readonly #handling: Handling;
  #batch: Batch | null = null;

  constructor(parts: KernelParts, holder: Holder, handling: Handling, entries: readonly MailboxEntry[]) {
    this.#parts = parts;
    this.#holder = holder;
    this.#handling = handling;
    this.entries = entries;
  }

  /** Runs the first turns. Null when the lease was lost meanwhile: what is cached may be a later holder's in this very process. */
  async begin(results: readonly OwnResult[]): Promise<Batch | null> {
    const taken = this.#entriesOf(results);
    const first = [...this.entries, ...taken];
    const { clock, retry } = this.#parts;
    const now = this.#holder.clock.turn(Math.max(0, ...first.map((entry) => entry.at)));
    const { drainLimit, failAll } = this.#handling;
    this.#batch = new Batch(now, () => clock.monotonic() * 1_000, { ...retry, drainLimit, failAll });
    this.settles.push(...results.map(({ id, attempt, partition }) => ({ id, attempt, partition })));
    this.results.push(...taken);
    return (await this.#run(this.#batch, first)) ? this.#batch : null;
  }

  /**
   * Runs the turns of results that came since. `ahead`: effects of this very batch, of which the store need not hear any
   * more. False when the lease was lost meanwhile.
   */
  async goOn(batch: Batch, results: readonly OwnResult[], ahead: ReadonlyMap<string, unknown>): Promise<boolean> {
    const { effectsCancelled, effectsEnded } = batch.writes;
    const wanted = results.filter(({ id }) => !ahead.has(id) || !effectsCancelled.includes(id));
    for (const { id, attempt, partition } of wanted) {
      if (ahead.has(id)) effectsEnded.add(id);
      else this.settles.push({ id, attempt, partition });
    }
    const taken = this.#entriesOf(wanted);
    this.results.push(...taken);
    return this.#run(batch, taken);
  }

  /** Those that can be read. */
  get messages(): readonly Message[] {
    return this.#messages.filter(isReadable);
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
    const targets = this.#messages.map((message) => (message instanceof SvcError ? UNREADABLE : message.to));
    const entries = [...this.entries, ...results];
    return { upTo: position, entries, targets, partitions: entries.map(this.#holder.partitionOf) };
  }

  #entriesOf(results: readonly OwnResult[]): MailboxEntry[] {
    const at = this.#holder.clock.now();
    return results.map(({ delivery, partition }) => ({ seq: 0, at, body: delivery.body, partition }));
  }

  async #run(batch: Batch, entries: readonly MailboxEntry[]): Promise<boolean> {
    const parts = this.#parts;
    const messages: (Message | SvcError)[] = [];
    for (const { body } of entries) {
      const decoded = decodeEntry(parts.payloads, body);
      messages.push(decoded instanceof Promise ? await decoded : decoded);
    }
    this.#messages.push(...messages);
    const { works } = batch.writes;
    const unknown = new Map<Address, Partition>();
    for (const [index, entry] of entries.entries()) {
      const message = messages[index];
      if (message === undefined || !isReadable(message)) continue;
      const partition = this.places.get(message.to) ?? this.#holder.partitionOf(entry);
      this.places.set(message.to, partition);
      if (!works.has(message.to)) unknown.set(message.to, partition);
    }
    const residents = await loadResidents(parts, unknown, this.#begun(entries, messages));
    for (const [address, { resident, record }] of works) residents.set(address, { ...resident, record });
    const bodies = await setAside(parts, entries, messages, residents, this.#handling.drainLimit);
    if (this.#holder.lost) return false;
    for (const [index, entry] of entries.entries()) {
      const message = messages[index];
      if (message === undefined) continue;
      if (message instanceof SvcError) batch.bury(entry, null, message);
      else if (this.#handling.bury !== undefined) batch.bury(entry, message, this.#handling.bury);
      else {
        const resident = residents.get(message.to) ?? null;
        if (resident instanceof SvcError) batch.bury(entry, message, resident);
        else batch.deliver(entry, message, resident, bodies);
      }
    }
    return true;
  }

  /**
   * Actors whose first message is among these. One that was there when the partition was taken may have been handled by an
   * earlier holder, and a store that went back to an older state brought it back.
   */
  #begun(entries: readonly MailboxEntry[], messages: readonly (Message | SvcError)[]): ReadonlySet<Address> {
    const begun = new Set<Address>();
    for (const [index, { seq }] of entries.entries()) {
      const message = messages[index];
      if (message instanceof SvcError || message?.first !== true) continue;
      if (seq > this.#holder.takenAt) begun.add(message.to);
    }
    return begun;
  }

  /** Handlers may have touched what they were given, and nothing of it was written. */
  forget(): void {
    for (const { to } of this.#messages.filter(isReadable)) this.#parts.cache.drop(to);
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
  waiting: Pick<OwnResults, 'take'>,
): Promise<boolean> {
  while (ahead.start(batch.writes) && run.results.length < MOST_RESULTS) {
    await new Promise<void>((resume) => void setImmediate(resume));
    const results = waiting.take(ahead.requests);
    if (results.length === 0) break;
    if (!(await run.goOn(batch, results, ahead.requests))) return false;
  }
  return true;
}

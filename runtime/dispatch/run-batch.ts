import type { EffectAttemptRef, Lease } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { SvcError } from '../errors.ts';
import { turnsFirst } from '../kit/waits.ts';
import { resultPosition } from '../leases.ts';
import { keysOfTurn, saysItsKeys } from '../ledger/keys.ts';
import type { MailboxEntry, Message } from '../message.ts';
import type { ProjectedCommit } from '../projection/views.ts';
import type { SpanSink } from '../tracing/spans.ts';
import type { Activation } from '../turns/actor-draft.ts';
import { Batch } from '../turns/batch.ts';
import { isReadable, UNREADABLE } from '../turns/loading.ts';
import { isSpilled } from '../turns/payload.ts';
import type { AheadOfCommit } from './ahead-of-commit.ts';
import type { KernelParts } from './kernel-parts.ts';
import type { BatchResults, LocalResult } from './local-results.ts';
import type { Progress } from './progress.ts';
import { type ReadyMessages, readyMessages } from './ready-messages.ts';
import type { Postponed, SlowActors } from './slow-actors.ts';
import type { StoreClock } from './store-clock.ts';

/** How the entries of a batch are handled. */
export interface Handling {
  /** Most deferred messages that one retry drains. */
  readonly drainLimit: number;
  /** Every message counts as failed with this error, because the decisions of its turn cannot be written. */
  readonly failAll?: string;
  /** No turn runs: every message is dead-lettered with this error. */
  readonly deadLetterAll?: SvcError;
}

const NONE: ReadonlyMap<string, unknown> = new Map();

/** The server of a log, which owns the batch. */
export interface BatchOwner {
  readonly lease: Lease;
  readonly lost: boolean;
  readonly clock: Pick<StoreClock, 'turn' | 'now'>;
  /** Number of the last entry when the log was taken. */
  readonly takenAt: number;
  /** Partition of the actor of an entry. */
  readonly partitionOf: (entry: MailboxEntry) => Partition;
}

/** Input of a batch. */
export interface BatchInput {
  /** Entries of the mailbox. */
  readonly entries: readonly MailboxEntry[];
  /** Entries that were postponed earlier and are handled beside the mailbox. */
  readonly resumed?: readonly MailboxEntry[];
  /** Postpones messages of slow actors. Null: the batch waits for every actor. */
  readonly slow: SlowActors | null;
  /** Actors that a commit under way changes. The batch ends before the first entry for one of them. */
  readonly excluded?: ReadonlySet<Address>;
}

/** A message that the batch took. `message` is null when its body was not read in time. */
interface Taken {
  readonly entry: MailboxEntry;
  readonly message: Message | SvcError | null;
}

/** An entry of a result, or of its progress, which has no result. */
interface Local {
  readonly entry: MailboxEntry;
  readonly result: LocalResult | null;
}

/** A batch being run. Each message has one turn: first those of the mailbox, then those handled beside it. */
export class BatchRun {
  /** The turns so far. */
  readonly batch: Batch;
  /**
   * Entries handled beside the mailbox: messages postponed earlier, and results. Their numbers are assigned with the
   * commit.
   */
  readonly results: MailboxEntry[];
  /** Effects of these results that are open in the store. */
  readonly settles: (EffectAttemptRef & { readonly partition: Partition })[] = [];
  readonly resumed: readonly MailboxEntry[];
  /** Entries of the mailbox that are not handled now. */
  readonly postponed: Postponed[] = [];
  /** Results of slow actors. They are sent as messages and wait in the mailbox. */
  readonly refused: LocalResult[] = [];
  /** Partitions of the actors of its messages. */
  readonly places = new Map<Address, Partition>();
  readonly #taken: Taken[] = [];
  /** Messages that its retries handle, by body. */
  readonly #bodies = new Map<string, Message>();
  readonly #parts: KernelParts;
  readonly #owner: BatchOwner;
  readonly #handling: Handling;
  readonly #slow: SlowActors | null;
  readonly #excluded: ReadonlySet<Address>;
  #entries: readonly MailboxEntry[];

  constructor(parts: KernelParts, owner: BatchOwner, handling: Handling, input: BatchInput) {
    this.#parts = parts;
    this.#owner = owner;
    this.#handling = handling;
    this.#entries = input.entries;
    this.#excluded = input.excluded ?? new Set();
    this.resumed = input.resumed ?? [];
    this.results = [...this.resumed];
    const now = owner.clock.turn(Math.max(0, ...this.first.map((entry) => entry.at)));
    this.batch = new Batch(now, () => parts.clock.monotonic() * 1_000, {
      ...parts.retry,
      ...handling,
      digests: parts.ledger,
    });
    this.#slow = input.slow;
  }

  /** Entries of the mailbox. */
  get entries(): readonly MailboxEntry[] {
    return this.#entries;
  }

  /** Whether it took nothing. */
  get isEmpty(): boolean {
    return this.#taken.length === 0;
  }

  /** The entries that the run begins with. */
  get first(): readonly MailboxEntry[] {
    return [...this.entries, ...this.resumed];
  }

  /**
   * Readable messages taken from the mailbox. A message whose body is in Blobs counts when it is handled, because it
   * may not have been read before.
   */
  get messages(): readonly Message[] {
    const postponed = new Set(this.postponed.map(({ entry }) => entry.seq));
    const isCounted = ({ seq, body }: MailboxEntry): boolean =>
      isSpilled(body) ? !postponed.has(seq) : !this.resumed.some((one) => one.seq === seq);
    return this.#taken.flatMap(({ entry, message }) => (isReadable(message) && isCounted(entry) ? [message] : []));
  }

  /**
   * Whether it takes large messages. Decoding them, running their turns and encoding the results then each get a turn of the
   * event loop.
   */
  get hasLarge(): boolean {
    return this.first.some(({ body }) => isSpilled(body));
  }

  /** The fields of its commit for the mailbox and results. */
  cursorFrom({ cursor: after, beside }: Pick<Progress, 'cursor' | 'beside'>) {
    const last = this.entries[this.entries.length - 1];
    return {
      after,
      upTo: last?.seq ?? after,
      beside,
      ...(last === undefined ? {} : { upToAt: last.at }),
      ...(this.results.length === 0 ? {} : { results: this.results.length }),
    };
  }

  /** The handled entries, for the projector. `position` is that of the commit's row. */
  handledAt(position: number): Pick<ProjectedCommit, 'upTo' | 'entries' | 'targets' | 'partitions' | 'keys'> {
    const count = this.results.length;
    const results = this.results.map((one, at) => ({ ...one, seq: resultPosition(position, at, count) }));
    const postponed = new Set(this.postponed.map(({ entry }) => entry.seq));
    const targets = this.#taken.map(({ entry, message }) =>
      isReadable(message) && !postponed.has(entry.seq) ? message.to : UNREADABLE,
    );
    const entries = [...this.entries, ...results];
    const partitions = entries.map(this.#owner.partitionOf);
    return { upTo: position, entries, targets, partitions, keys: this.#keys() };
  }

  #keys(): ProjectedCommit['keys'] {
    const { rows } = this.batch;
    return this.#taken.map(({ entry: { body }, message }, index) =>
      isReadable(message) && !saysItsKeys(body, rows[index])
        ? keysOfTurn(message, body, rows[index], this.#bodies)
        : null,
    );
  }

  /** Passes its turns on, after their commit. */
  exportTo(sink: SpanSink, epoch: number): void {
    for (const [index, { entry, message }] of this.#taken.entries()) {
      const row = this.batch.rows[index];
      if (!isReadable(message) || row === undefined) continue;
      const { at } = entry;
      if (message.traceContext?.sampled !== false) sink.delivered({ message, at, row, epoch });
      for (const turn of row.drained ?? []) {
        const handled = this.#bodies.get(turn.body);
        if (handled === undefined || handled.traceContext?.sampled === false) continue;
        const { outcome, turnUs = 0, attempt, error } = turn;
        sink.delivered({ message: handled, at, row: { outcome, waitMs: row.waitMs, turnUs, attempt, error }, epoch });
      }
    }
  }

  /** The entries of results, each behind its progress. `result` is absent for progress. */
  #locals(results: readonly LocalResult[]): Local[] {
    const at = this.#owner.clock.now();
    return results.flatMap((result) => {
      const { delivery, before = [], partition } = result;
      const progress = before.map(({ body }) => ({ entry: { seq: 0, at, body, partition }, result: null }));
      return [...progress, { entry: { seq: 0, at, body: delivery.body, partition }, result }];
    });
  }

  /**
   * Runs the turns of entries, then those of results. `ahead` holds effects of this very batch, which the store does
   * not know. False when the lease was lost meanwhile: the cached actors may then belong to a later owner in this
   * process.
   */
  async deliver(
    entries: readonly MailboxEntry[],
    found: readonly LocalResult[],
    ahead: ReadonlyMap<string, unknown> = NONE,
  ): Promise<boolean> {
    const { drafts, effectsCancelled } = this.batch.writes;
    const locals = this.#locals(found.filter(({ id }) => !ahead.has(id) || !effectsCancelled.includes(id)));
    // Results of the batch's own effects come later than it began.
    if (locals.length > 0) this.batch.continueAt(this.#owner.clock.turn(0));
    const all = [...entries, ...locals.map(({ entry }) => entry)];
    const ready = await readyMessages(this.#parts, {
      entries: all,
      drafts,
      placeOf: (to, entry) => this.#placeOf(to, entry),
      takenAt: this.#owner.takenAt,
      drainLimit: this.#handling.drainLimit,
      slow: this.#slow,
    });
    if (this.hasLarge) await turnsFirst();
    if (this.#owner.lost) return false;
    for (const [body, message] of ready.bodies) this.#bodies.set(body, message);
    const end = this.#endBeforeExcluded(entries, ready);
    for (const [index, entry] of all.entries()) {
      if (index >= end && index < entries.length) continue;
      const message = ready.messages[index] ?? null;
      const local = locals[index - entries.length];
      const slow = ready.slow.get(index);
      if (slow !== undefined && local !== undefined) {
        // Its progress has the same actor, which is slow too.
        if (local.result !== null) this.refused.push(local.result);
        continue;
      }
      this.#taken.push({ entry, message });
      if (local !== undefined) this.#take(local, ahead);
      if (slow !== undefined) this.#postpone(entry, slow);
      else if (message !== null) this.batch.deliver(entry, message, activationOf(message, ready), ready.bodies);
    }
    return true;
  }

  /**
   * Ends the batch before the first entry for an excluded actor, or for one that is not known because the body was not
   * read in time. Returns how many of `entries` it has.
   */
  #endBeforeExcluded(entries: readonly MailboxEntry[], { messages }: ReadyMessages): number {
    if (this.#excluded.size === 0 || entries.length === 0) return entries.length;
    const isOut = (message: Message | SvcError | null): boolean =>
      message === null || (isReadable(message) && this.#excluded.has(message.to));
    const first = messages.slice(0, entries.length).findIndex(isOut);
    if (first >= 0) this.#entries = entries.slice(0, first);
    return this.#entries.length;
  }

  #placeOf(to: Address, entry: MailboxEntry): Partition {
    const partition = this.places.get(to) ?? this.#owner.partitionOf(entry);
    this.places.set(to, partition);
    return partition;
  }

  #take({ entry, result }: Local, ahead: ReadonlyMap<string, unknown>): void {
    this.results.push(entry);
    if (result === null) return;
    const { id, attempt, partition } = result;
    if (ahead.has(id)) this.batch.writes.effectsEnded.add(id);
    else this.settles.push({ id, attempt, partition });
  }

  #postpone(entry: MailboxEntry, key: string): void {
    this.postponed.push({ entry: { ...entry, partition: this.#owner.partitionOf(entry) }, key });
    this.batch.postpone(entry);
  }

  /** Drops the actors from the cache: nothing was written, and handlers may have changed their objects. */
  forget(): void {
    for (const { message } of this.#taken) if (isReadable(message)) this.#parts.cache.drop(message.to);
  }
}

/** Null: the kind of actor is unknown. An error stands for an actor that cannot be read. */
const activationOf = (message: Message | SvcError, { activations }: ReadyMessages): Activation | SvcError | null =>
  isReadable(message) ? (activations.get(message.to) ?? null) : null;

/** Most results that one batch handles before it is written. */
const MOST_RESULTS = 256;

/**
 * Runs effects ahead, and the turns of their results as long as these arrive at once, so that one commit writes all
 * quick steps. False when the lease was lost meanwhile.
 */
export async function goOnAhead(
  run: BatchRun,
  ahead: AheadOfCommit,
  waiting: Pick<BatchResults, 'take' | 'tookAhead'>,
): Promise<boolean> {
  while (ahead.start(run.batch.writes) && run.results.length < MOST_RESULTS) {
    await new Promise<void>((resume) => void setImmediate(resume));
    const results = waiting.take(ahead.requests);
    if (results.length === 0) break;
    if (!(await run.deliver([], results, ahead.requests))) return false;
    waiting.tookAhead(run.refused);
  }
  return true;
}

import { type Address, isSharedLog, type Log, type Partition } from './address.ts';
import type { EffectAttemptRef, EffectLedger, EffectOpen } from './effect-ledger.ts';
import type { Lease, Leases, SharedLogs, Subscription, Unsubscribe } from './leases.ts';
import type { Members } from './members.ts';
import type { Delivery, MailboxEntry } from './message.ts';
import type { StoreFacts } from './store-formats.ts';

export type {
  ClaimOutcome,
  EffectAttemptRef,
  EffectError,
  EffectLedger,
  EffectMode,
  EffectOpen,
  EffectRow,
  EffectSettle,
} from './effect-ledger.ts';
export type { AcquireOutcome, Lease, Leases } from './leases.ts';

/**
 * The store under the kernel (K9). Message bodies and records are opaque strings here: the kernel encodes and decodes
 * them.
 *
 * Guarantees that the contract suite (test/contract/actor-store.ts) checks on every adapter:
 * - `append` is durable when it resolves, unless its caller waits for an answer (`Delivery.awaited`), and an id seen
 *   before is not appended again;
 * - every call is safe when it arrives twice or late: a client library or a network may send it again by itself;
 * - a partition's entries have gap-free integer sequence numbers and are never reordered;
 * - `commit` writes everything or nothing, and writes only when lease epoch, grant and cursor are the expected ones;
 * - the store's clock decides every time limit (lease, timer, claim).
 * A call that rejects with `unavailable` may have happened. Callers repeat it, and repeating is harmless.
 * Implemented by `SqliteActorStore` (sqlite/actor-store.ts) and `RedisActorStore` (redis/redis-actor-store.ts).
 */
export interface ActorStore
  extends Mailboxes,
    Leases,
    Members,
    Commits,
    EffectLedger,
    EventLog,
    Journal,
    Directory,
    StoreFacts {
  /** Logs that several partitions share. Absent when the store has none: each partition then has its own log only. */
  readonly sharedLogs?: SharedLogs;
  /**
   * Reads an entry that is `locked`. Rejects with `unavailable` while its key cannot be had. Absent: the store locks no entry.
   */
  readonly unlock?: (entry: MailboxEntry) => Promise<MailboxEntry>;
  /** Whether it writes on the thread that runs the turns: running turns while it writes then gains nothing. Default: false. */
  readonly isInProcess?: boolean;
  /** Creates what is missing (schema, functions) and connects. */
  open(): Promise<void>;
  close(): Promise<void>;
  /**
   * Reads the store's clock in Unix milliseconds. This clock decides the leases, timers and claims of `log`, because
   * each partition may be on a server of its own. Without `log`, any server's clock is read.
   */
  now(log?: Log): Promise<number>;
  /** Fixes a pool's partition count at first use. Returns the count that holds. */
  definePool(pool: string, partitions: number): Promise<number>;
}

export type AppendOutcome =
  /**
   * `seq` is 0 when an earlier copy of the call wrote the message and its number is no longer known. `log` names the
   * log that holds the message when it is not the partition's own.
   */
  | { readonly kind: 'accepted'; readonly seq: number; readonly log?: Log }
  /** The id was seen before. `reply` is the recorded answer, or null when there is none. */
  | { readonly kind: 'duplicate'; readonly reply: string | null }
  | { readonly kind: 'full'; readonly depth: number }
  /**
   * The message was first sent so long ago that the store may have seen its id and forgotten it. This call appended
   * nothing.
   */
  | { readonly kind: 'late' };

export interface Backlog {
  readonly cursor: number;
  readonly tail: number;
  /** When the oldest unhandled entry was appended, postponed entries included; null when none waits. */
  readonly oldestAt: number | null;
}

/** A page of messages that wait. */
export interface Unread {
  readonly entries: readonly MailboxEntry[];
  /** Where the next page begins (`after`); null at the end of the log. */
  readonly next: number | null;
}

export interface Mailboxes {
  /**
   * Appends client messages, all for one partition. `bound` is the most client messages that may wait for one actor. A
   * repeat states in `ageMs` how long ago the first try was. A store forgets old ids: a repeat or a late copy of a
   * message older than the ids that the store remembers is not appended, because an earlier try may have appended it.
   */
  append(
    partition: Partition,
    deliveries: readonly Delivery[],
    bound: number,
    ageMs?: number,
  ): Promise<AppendOutcome[]>;
  /**
   * Returns the recorded answer to a client message; null when it was not answered yet or its answer is forgotten. `at`
   * is the position that the append returned: the search for the answer to a fresh message starts there.
   */
  recallReply(
    partition: Partition,
    messageId: string,
    at?: { readonly seq: number; readonly log?: Log | undefined },
  ): Promise<string | null>;
  /** Returns how many client messages wait for one actor. */
  depth(partition: Partition, address: Address): Promise<number>;
  /** Returns the backlog of a log. A partition that shares a log has the backlog of that log. */
  backlog(log: Log): Promise<Backlog>;
  /**
   * Reads messages that wait in a partition's log behind `after` (0: all), oldest first, without a lease. Those for
   * `address` are among them; a store may also return those of other actors. It stops after `limit` messages, or when
   * it has looked at as many as one call may.
   */
  unread(partition: Partition, address: Address, after: number, limit: number): Promise<Unread>;
  /**
   * Calls back with each answer committed for `session`. An answer may get lost, so callers also use `recallReply`. `missed` is
   * called when a subscription is in place, also after it was broken, because answers may have been lost before; some stores
   * never call it.
   */
  onReply(session: string, receive: (messageId: string, body: string) => void, missed?: () => void): Unsubscribe;
}

export interface EventAppend {
  readonly address: Address;
  /** Sequence number of `data[0]`; the rest follow. */
  readonly first: number;
  readonly data: readonly string[];
}

export interface TimerSet {
  /** Unique in the partition. Setting a timer with the same id replaces it. */
  readonly id: string;
  readonly afterMs: number;
  readonly delivery: Delivery;
}

export interface CommitReply {
  readonly session: string;
  readonly messageId: string;
  readonly body: string;
  /** The answer is to a fresh message (`Delivery`): it can be recalled by number only. */
  readonly fresh?: boolean;
  /** Partition of the actor that answers. Absent: the partition of the commit. */
  readonly partition?: Partition;
}

/** The changes that a commit makes in one partition. */
export interface PartitionChanges {
  /** New actor records; null deletes. */
  readonly records: readonly { readonly address: Address; readonly record: string | null }[];
  readonly events: readonly EventAppend[];
  /** Messages from its actors to actors of this or other partitions, in order per target. */
  readonly sends: readonly { readonly partition: Partition; readonly delivery: Delivery }[];
  readonly timersSet: readonly TimerSet[];
  readonly timersCleared: readonly string[];
  readonly effectsOpened: readonly EffectOpen[];
  readonly effectsCancelled: readonly string[];
  /**
   * Effects that end with this commit because it handled their results. The results are in its journal row and in no
   * mailbox, so entries that wait in the mailbox may stay there and `upTo` may equal `after`.
   */
  readonly settles?: readonly EffectAttemptRef[];
  /** Entries up to `upTo` that were not handled and continue to wait in the partition (`SharedLogs`). */
  readonly postponed?: readonly Omit<MailboxEntry, 'partition'>[];
  /** Sequence numbers of postponed entries that this commit handled. */
  readonly resumed?: readonly number[];
}

/** Everything that one batch of turns changes. It is applied as one atomic step or not at all (K3). */
export interface Commit extends PartitionChanges {
  readonly lease: Lease;
  /** For a commit to a shared log: the changes in each of its partitions. The commit's own changes are then empty. */
  readonly partitions?: readonly ({ readonly partition: Partition } & PartitionChanges)[];
  /** Cursor at which the store must be: the sequence number of the last handled entry. */
  readonly after: number;
  /** Cursor to move to. It equals `after` when the commit took nothing from the mailbox. */
  readonly upTo: number;
  /** `at` of the entry `upTo`. A store that was rolled back and gave this number to another entry returns `fenced`. */
  readonly upToAt?: number;
  /** How many results handled beside the mailbox the store must have at `after`. Absent: not compared. */
  readonly beside?: number;
  /**
   * How many results this commit handled beside the mailbox, those of `settles` and those of effects that need not be
   * open.
   */
  readonly results?: number;
  /** One row of the journal, stored at the position that the outcome returns; null for none. */
  readonly journal: string | null;
  readonly replies: readonly CommitReply[];
  /**
   * Changes in the number of client messages that actors hold back. Positive: taken from the mailbox and not handled.
   * Negative: handled now, taken by an earlier commit. Messages held back count as waiting.
   */
  readonly held?: readonly { readonly address: Address; readonly count: number; readonly partition?: Partition }[];
  /**
   * Client messages that no longer count as waiting; they come from this mailbox's entries or were held back before.
   */
  readonly handled: readonly { readonly address: Address; readonly count: number }[];
}

export type CommitOutcome =
  | {
      readonly kind: 'committed';
      /** Store time of the commit. Timers that it set are due at `at + afterMs`. */
      readonly at: number;
      /**
       * How many results were handled beside the mailbox while the cursor is at `upTo`, those of this commit included.
       */
      readonly beside: number;
      /** Up to `readAhead` entries that wait behind `upTo`. They save the next poll. */
      readonly next: readonly MailboxEntry[];
      /** Partitions of the commit whose outboxes hold messages for other partitions. */
      readonly owing: readonly Partition[];
    }
  /**
   * An effect in `settles` does not run at that attempt, or `upTo` already has MOST_BESIDE results. Nothing was
   * written.
   */
  | { readonly kind: 'unsettled' }
  /** Epoch, grant or cursor is not the expected one: the lease is lost and nothing was written. */
  | { readonly kind: 'fenced' };

/** Returns the changes of a commit, by partition. */
export const changesOf = (commit: Commit): readonly ({ readonly partition: Partition } & PartitionChanges)[] =>
  isSharedLog(commit.lease.log) ? (commit.partitions ?? []) : [{ ...commit, partition: commit.lease.log }];

export interface Commits {
  /**
   * Returns up to `limit` entries behind `after` for each lease, oldest first. Null means that the lease is lost, or
   * that the store may have lost writes that the holder knows: its cursor is before `after`, or the server was
   * restarted or replaced in a failover. The holder then drops its state and takes the lease again; otherwise it would
   * skip entries that are still to come.
   */
  poll(
    asks: readonly { readonly lease: Lease; readonly after: number }[],
    limit: number,
  ): Promise<(readonly MailboxEntry[] | null)[]>;
  /** Rejects with `internal` and the store's name when the place of a record is damaged: the other records can be read. */
  load(partition: Partition, addresses: readonly Address[]): Promise<(string | null)[]>;
  /** Returns every actor of the partition that has a record. */
  recorded(partition: Partition): Promise<Address[]>;
  /** Returns how many actors of the partition have a record, without reading them. */
  actorCount(partition: Partition): Promise<number>;
  /**
   * Writes a commit. Repeating it is safe after `unavailable`: while nothing else was committed, the same `Commit`
   * object returns `committed` again and is written once. A copy of the object, or a batch built again, is another
   * commit: it is fenced when the first one has moved the cursor.
   */
  commit(commit: Commit, readAhead: number): Promise<CommitOutcome>;
  /**
   * Moves due timers into the mailbox. Returns when the next one is due for each lease, in the order given; null when
   * there is none.
   */
  fireTimers(leases: readonly Lease<Partition>[]): Promise<(number | null)[]>;
  /** Returns when each of these timers of a partition is due, Unix ms on the store's clock; null for one that is not set. */
  timersDue(partition: Partition, ids: readonly string[]): Promise<(number | null)[]>;
  /**
   * Delivers the messages owed to other partitions, exactly once each and in order per target. Returns whether some are
   * left. A store that appends to the target inside the commit owes nothing.
   */
  flushOutbox(lease: Lease<Partition>): Promise<boolean>;
  /**
   * Removes archived actors: their records and their events. `after` is the cursor at which the caller read them, so that a
   * late copy of the call removes no actor that was created again. Returns false when the lease or the cursor does not match.
   * `partition` says where the actors live when the lease is that of a shared log.
   */
  forget(lease: Lease, after: number, addresses: readonly Address[], partition?: Partition): Promise<boolean>;
}

export interface EventLog {
  /**
   * Returns the events of one actor behind `after`, oldest first. Sequence numbers start at 1 and have no gaps (R1).
   */
  readEvents(
    partition: Partition,
    address: Address,
    after: number,
    limit: number,
  ): Promise<{ readonly seq: number; readonly data: string }[]>;
  /**
   * Calls back when the actor has new events, with the events themselves where the notice carries them. A call may get
   * lost: it only saves and shortens polls. A store that subscribes later than it returns calls back, without events, once
   * the subscription is in place: a caller that has read meanwhile reads again.
   */
  onEvents(address: Address, wake: (news?: EventAppend) => void): Subscription;
}

export interface JournalRow {
  /** The row's position (`positionOf`, leases.ts). Each row has a different one, and positions grow. */
  readonly upTo: number;
  readonly row: string;
  /** The mailbox entries that the commit handled. */
  readonly entries: readonly MailboxEntry[];
}

/**
 * The record of all turns: mailbox entries, and one row for each commit. Rows are kept until the projector is past them
 * (R2).
 */
export interface Journal {
  /** Returns up to `limit` rows behind the position `after`. */
  readJournal(log: Log, after: number, limit: number): Promise<JournalRow[]>;
  /** Deletes the rows up to the position `upTo` and the entries that they handled, but never past the last commit. */
  trimJournal(lease: Lease, upTo: number): Promise<void>;
}

/**
 * Says where actors live that are not in their home partition: one entry per actor, set if absent, in the home's slot
 * (K1).
 */
export interface Directory {
  place(home: Partition, address: Address, partition: Partition): Promise<Partition>;
  locate(home: Partition, address: Address): Promise<Partition | null>;
  /** Removes the entry if it still names `partition`. Returns whether it was removed. */
  unplace(home: Partition, address: Address, partition: Partition): Promise<boolean>;
  /**
   * Reads the entries of one home page by page, in no order. `next` asks for the following page; null means the end. An
   * entry that exists during the whole reading is returned at least once.
   */
  placed(
    home: Partition,
    page: string | null,
  ): Promise<{
    readonly entries: readonly { readonly address: Address; readonly partition: Partition }[];
    readonly next: string | null;
  }>;
}

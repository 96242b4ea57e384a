import { type Address, isSharedLog, type Log, type Partition } from './address.ts';
import type { EffectAttemptRef, EffectLedger, EffectOpen } from './effect-ledger.ts';
import type { Lease, Leases, SharedLogs, Unsubscribe } from './leases.ts';
import type { Members } from './members.ts';
import type { Delivery, MailboxEntry } from './message.ts';
import type { StoreFacts } from './store-formats.ts';

export type {
  ClaimOutcome,
  EffectAttemptRef,
  EffectLedger,
  EffectMode,
  EffectOpen,
  EffectRow,
  EffectSettle,
} from './effect-ledger.ts';
export type { AcquireOutcome, Lease, Leases } from './leases.ts';

/**
 * The store under the kernel (K9). Bodies and records are opaque strings here: the kernel encodes and decodes them.
 *
 * Guarantees that the contract suite (test/contract/actor-store.ts) checks on every adapter:
 * - `append` is durable when it resolves, and an id seen before is not appended again;
 * - every call is safe when it arrives twice, or late: a client library or a network may send it again by itself;
 * - a partition's entries have gap-free integer sequence numbers and are never reordered;
 * - `commit` writes all of it or nothing, and nothing unless lease epoch, grant and cursor are the expected ones;
 * - every time (lease, timer, claim) is judged on the store's clock.
 * A call that rejects with `unavailable` may have happened: callers repeat it, and repeating is harmless.
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
  /** Logs that several partitions share. Absent: each partition has only its own. */
  readonly sharedLogs?: SharedLogs;
  /** Creates what is missing (schema, functions) and connects. */
  open(): Promise<void>;
  close(): Promise<void>;
  /**
   * The clock that judges leases, timers and claims of a log, Unix milliseconds: each partition may have a server
   * of its own. Without one, that of some server.
   */
  now(log?: Log): Promise<number>;
  /** Fixes a pool's partition count at first use; answers the count that holds. */
  definePool(pool: string, partitions: number): Promise<number>;
}

export type AppendOutcome =
  /**
   * `seq` is 0 when it was written by an earlier copy of the call and its number is not known any more. `log`: the log that
   * has it, when it is another than the partition's own.
   */
  | { readonly kind: 'accepted'; readonly seq: number; readonly log?: Log }
  /** Seen before; `reply` is the recorded answer when there is one. */
  | { readonly kind: 'duplicate'; readonly reply: string | null }
  | { readonly kind: 'full'; readonly depth: number }
  /** Sent so long ago that the store may have seen and forgotten its id: nothing was appended by this call. */
  | { readonly kind: 'late' };

export interface Backlog {
  readonly cursor: number;
  readonly tail: number;
  /** When the oldest unhandled entry was appended, also one that is postponed; null when none waits. */
  readonly oldestAt: number | null;
}

export interface Mailboxes {
  /**
   * Appends client messages, all of one partition. `bound` is the most client messages one actor may have waiting. A
   * repeat says by `ageMs` how long ago the first try was. A store forgets ids; what was sent before those that it
   * remembers may have been appended, and is not appended by a repeat or a late copy.
   */
  append(
    partition: Partition,
    deliveries: readonly Delivery[],
    bound: number,
    ageMs?: number,
  ): Promise<AppendOutcome[]>;
  /**
   * The recorded answer to a client message, null when it was not answered (yet) or is forgotten. `at` is where the append
   * put it: a fresh message is looked for from there.
   */
  recallReply(
    partition: Partition,
    messageId: string,
    at?: { readonly seq: number; readonly log?: Log | undefined },
  ): Promise<string | null>;
  /** Client messages that wait for one actor. */
  depth(partition: Partition, address: Address): Promise<number>;
  /** Of a partition that shares a log: of that log. */
  backlog(log: Log): Promise<Backlog>;
  /** Calls back with each answer committed for `session`. May lose one: callers also `recallReply`. */
  onReply(session: string, receive: (messageId: string, body: string) => void): Unsubscribe;
}

export interface EventAppend {
  readonly address: Address;
  /** Sequence number of `data[0]`; the rest follow. */
  readonly first: number;
  readonly data: readonly string[];
}

export interface TimerSet {
  /** Unique in the partition; setting it again replaces it. */
  readonly id: string;
  readonly afterMs: number;
  readonly delivery: Delivery;
}

export interface CommitReply {
  readonly session: string;
  readonly messageId: string;
  readonly body: string;
  /** To a fresh message (`Delivery`): it is recalled by number only. */
  readonly fresh?: boolean;
  /** Where its actor lives. Absent: in the partition of the commit. */
  readonly partition?: Partition;
}

/** What a commit changes in one partition. */
export interface PartitionChanges {
  /** New actor records; null deletes. */
  readonly records: readonly { readonly address: Address; readonly record: string | null }[];
  readonly events: readonly EventAppend[];
  /** Messages of its actors to actors of this or other partitions, in order per target. */
  readonly sends: readonly { readonly partition: Partition; readonly delivery: Delivery }[];
  readonly timersSet: readonly TimerSet[];
  readonly timersCleared: readonly string[];
  readonly effectsOpened: readonly EffectOpen[];
  readonly effectsCancelled: readonly string[];
  /**
   * Effects that end with this commit: it handled their results, which are in its journal row and in no mailbox. Whatever
   * waits there may wait, and `upTo` may be `after`.
   */
  readonly settles?: readonly EffectAttemptRef[];
  /** Entries up to `upTo` that are left to wait in the partition (shared-logs.ts). */
  readonly postponed?: readonly Omit<MailboxEntry, 'partition'>[];
  /** Of those, the numbers that this commit handled beside the mailbox. */
  readonly resumed?: readonly number[];
}

/** All that one batch of turns changes. Applied as one atomic step or not at all (K3). */
export interface Commit extends PartitionChanges {
  readonly lease: Lease;
  /** Of a log that partitions share: what changes in each of them; the commit's own changes are then empty. */
  readonly partitions?: readonly ({ readonly partition: Partition } & PartitionChanges)[];
  /** Cursor the store must be at: sequence number of the last handled entry. */
  readonly after: number;
  /** Cursor to move to; equal to `after` when nothing was taken from the mailbox. */
  readonly upTo: number;
  /** `at` of the entry `upTo`: a store that was rolled back and gave its number to another entry answers fenced. */
  readonly upToAt?: number;
  /** Results handled beside the mailbox that the store must have at `after`; absent: not compared. */
  readonly beside?: number;
  /** Results that this commit handled beside the mailbox, those of effects that it need not open included; as `settles`. */
  readonly results?: number;
  /** One row of the journal, stored at the position that the outcome tells; null for none. */
  readonly journal: string | null;
  readonly replies: readonly CommitReply[];
  /**
   * By how many the client messages that an actor holds back became more (taken from the mailbox and not handled) or fewer
   * (negative: handled, and taken by an earlier commit). They count as waiting.
   */
  readonly held?: readonly { readonly address: Address; readonly count: number; readonly partition?: Partition }[];
  /** Client messages that need not be counted as waiting any more, from this mailbox's entries or held back before. */
  readonly handled: readonly { readonly address: Address; readonly count: number }[];
}

export type CommitOutcome =
  | {
      readonly kind: 'committed';
      /** Store time of the commit; timers set by it are due at `at + afterMs`. */
      readonly at: number;
      /** Results handled beside the mailbox since the cursor stands at `upTo`, with those of this commit. */
      readonly beside: number;
      /** Entries waiting behind `upTo`, up to `readAhead`: saves the next poll. */
      readonly next: readonly MailboxEntry[];
      /** Partitions of the commit whose outboxes hold messages for others. */
      readonly owing: readonly Partition[];
    }
  /** Of `settles`: an effect does not run at that attempt, or there are MOST_BESIDE at `upTo`. Nothing was written. */
  | { readonly kind: 'unsettled' }
  /** Epoch, grant or cursor is not the expected one: the lease is lost and nothing was written. */
  | { readonly kind: 'fenced' };

/** What a commit changes, by partition. */
export const changesOf = (commit: Commit): readonly ({ readonly partition: Partition } & PartitionChanges)[] =>
  isSharedLog(commit.lease.log) ? (commit.partitions ?? []) : [{ ...commit, partition: commit.lease.log }];

export interface Commits {
  /**
   * Entries behind `after`, oldest first, for each lease asked. Null: the lease is lost, or the store may have gone back
   * behind what its holder knows (its cursor is before `after`, it is a server that was started again or took over). The
   * holder drops what it knows and takes the lease anew: it would read past what comes.
   */
  poll(
    asks: readonly { readonly lease: Lease; readonly after: number }[],
    limit: number,
  ): Promise<(readonly MailboxEntry[] | null)[]>;
  load(partition: Partition, addresses: readonly Address[]): Promise<(string | null)[]>;
  /** Every actor of the partition that has a record. */
  recorded(partition: Partition): Promise<Address[]>;
  /**
   * Repeating it is safe after `unavailable`: while nothing else was committed, the same `Commit` object is answered
   * `committed` again and written once. A copy of it, or a batch made anew, is another commit: it is fenced when the
   * first one had moved the cursor.
   */
  commit(commit: Commit, readAhead: number): Promise<CommitOutcome>;
  /** Moves due timers into the mailbox; answers when the next one is due (null: none), in the order asked. */
  fireTimers(leases: readonly Lease<Partition>[]): Promise<(number | null)[]>;
  /**
   * Hands messages owed to other partitions over, exactly once each, in order per target. Answers whether some are
   * left. A store that appends to the target inside the commit owes nothing.
   */
  flushOutbox(lease: Lease<Partition>): Promise<boolean>;
  /**
   * Removes archived actors: their records and their events. `after` is the cursor at which they were looked at: a copy
   * that comes later removes nothing of actors made anew since. Answers false when fenced, by the cursor too. `partition`:
   * where they live, when the lease is that of a shared log.
   */
  forget(lease: Lease, after: number, addresses: readonly Address[], partition?: Partition): Promise<boolean>;
}

export interface EventLog {
  /** Events of one actor behind `after`, oldest first. Sequence numbers start at 1 and have no gaps (R1). */
  readEvents(
    partition: Partition,
    address: Address,
    after: number,
    limit: number,
  ): Promise<{ readonly seq: number; readonly data: string }[]>;
  /** Calls back when the actor got events. May miss one: it only shortens a poll. */
  onEvents(address: Address, wake: () => void): Unsubscribe;
}

export interface JournalRow {
  /** The row's position (journal-position.ts); rows have different ones, which grow. */
  readonly upTo: number;
  readonly row: string;
  /** The mailbox entries the commit handled. */
  readonly entries: readonly MailboxEntry[];
}

/** The record of all turns: mailbox entries plus one row a commit. Kept until the projector is past it (R2). */
export interface Journal {
  /** Rows behind the position `after`. */
  readJournal(log: Log, after: number, limit: number): Promise<JournalRow[]>;
  /** Forgets rows up to the position `upTo` and the entries they handled; never past the last commit. */
  trimJournal(lease: Lease, upTo: number): Promise<void>;
}

/** Where actors live that are not at home: set if absent, in the home's slot (K1). */
export interface Directory {
  place(home: Partition, address: Address, partition: Partition): Promise<Partition>;
  locate(home: Partition, address: Address): Promise<Partition | null>;
  /** Removes the entry while it names `partition`, where its remover looked; answers whether it did. */
  unplace(home: Partition, address: Address, partition: Partition): Promise<boolean>;
  /**
   * Entries of one home, a page at a time in no order: `next` asks for the page behind, null ends. An entry that stays
   * is met at least once.
   */
  placed(
    home: Partition,
    page: string | null,
  ): Promise<{
    readonly entries: readonly { readonly address: Address; readonly partition: Partition }[];
    readonly next: string | null;
  }>;
}

import type { Address, Partition } from './address.ts';
import type { EffectLedger, EffectOpen, EffectSettle } from './effect-ledger.ts';
import type { Members } from './members.ts';
import type { StoreFacts } from './store-facts.ts';

export type { ClaimOutcome, EffectLedger, EffectMode, EffectOpen, EffectRow, EffectSettle } from './effect-ledger.ts';

/**
 * The store under the kernel (design K9): mailboxes, leases, the one commit, timers, effect records, event streams,
 * journal. Bodies and records are opaque strings here; the kernel encodes and decodes them, so an adapter is small.
 *
 * Guarantees that the contract suite (test/contract/actor-store.ts) checks on every adapter:
 * - `append` is durable when it resolves, and an id seen before is not appended again;
 * - every call is safe when it arrives twice, or late: a client library or a network may send it again by itself;
 * - a partition's entries have gap-free integer sequence numbers and are never reordered;
 * - `commit` writes all of it or nothing, and nothing unless lease epoch, grant and cursor are the expected ones;
 * - every time (lease, timer, claim) is judged on the store's clock.
 * A call that rejects with `unavailable` may have happened: callers repeat it, and repeating is harmless.
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
  /** Creates what is missing (schema, functions) and connects. */
  open(): Promise<void>;
  close(): Promise<void>;
  /**
   * The clock that judges leases, timers and claims of a partition, Unix milliseconds: each partition may have a server
   * of its own. Without one, that of some server.
   */
  now(partition?: Partition): Promise<number>;
  /** Fixes a pool's partition count at first use; answers the count that holds. */
  definePool(pool: string, partitions: number): Promise<number>;
}

export type Unsubscribe = () => void;

/** A message on its way into a mailbox. */
export interface Delivery {
  readonly id: string;
  readonly to: Address;
  /** Encoded message. */
  readonly body: string;
  /** Of a commit's send: its partition's bell need not ring, since the sender's kernel sees to it. */
  readonly unhurried?: boolean;
}

export interface MailboxEntry {
  /** Position in the partition: 1, 2, 3 … without gaps. */
  readonly seq: number;
  /** When it was appended, Unix milliseconds on the store's clock. */
  readonly at: number;
  readonly body: string;
}

export type AppendOutcome =
  | { readonly kind: 'accepted'; readonly seq: number }
  /** Seen before; `reply` is the recorded answer when there is one. */
  | { readonly kind: 'duplicate'; readonly reply: string | null }
  | { readonly kind: 'full'; readonly depth: number };

export interface Backlog {
  readonly cursor: number;
  readonly tail: number;
  /** When the oldest unhandled entry was appended; null when none waits. */
  readonly oldestAt: number | null;
}

export interface Mailboxes {
  /** Appends client messages, all of one partition. `bound` is the most client messages one actor may have waiting. */
  append(partition: Partition, deliveries: readonly Delivery[], bound: number): Promise<AppendOutcome[]>;
  /** The recorded answer to a client message, null when it was not answered (yet) or is forgotten. */
  recallReply(partition: Partition, messageId: string): Promise<string | null>;
  /** Client messages that wait for one actor. */
  depth(partition: Partition, address: Address): Promise<number>;
  backlog(partition: Partition): Promise<Backlog>;
  /** Calls back with each answer committed for `session`. May lose one: callers also `recallReply`. */
  onReply(session: string, receive: (messageId: string, body: string) => void): Unsubscribe;
}

/** Proof that a node serves a partition. The epoch grows at each grant, the grant id tells equal epochs apart (K4). */
export interface Lease {
  readonly partition: Partition;
  readonly node: string;
  readonly epoch: number;
  readonly grant: string;
}

export type AcquireOutcome =
  | {
      readonly kind: 'granted';
      readonly lease: Lease;
      readonly cursor: number;
      readonly nextTimerAt: number | null;
      /** Store time of the grant. */
      readonly at: number;
      /**
       * The store may be an older one than when the partition was last served (a restored backup, a failover): the
       * holder looks through it and then calls `vouch`. Until then nobody claims an effect of it.
       */
      readonly mayBeOlder: boolean;
    }
  | { readonly kind: 'held'; readonly by: string; readonly grant: string; readonly remainingMs: number };

/** A lease that held when the store went away for all nodes holds for one more term after it came back. */
export interface Leases {
  /**
   * Grants the lease when it is free, expired, or held by an earlier life of the same node (its data directory is
   * locked, so that life has ended). `grant` is a fresh random id. `over` is the grant of a holder that is known to be
   * dead: while it is the one in force it does not count.
   */
  acquire(partition: Partition, node: string, grant: string, ttlMs: number, over?: string): Promise<AcquireOutcome>;
  /** Extends leases; answers those that were lost, also since the store may have gone back behind the grant. */
  renew(leases: readonly Lease[], ttlMs: number): Promise<Lease[]>;
  /** The holder has looked through a partition that was granted as `mayBeOlder`. False: the lease is lost. */
  vouch(lease: Lease): Promise<boolean>;
  release(lease: Lease): Promise<void>;
  /** Calls back when a partition that `node` holds got an entry. May miss one: it only shortens a poll. */
  onBell(node: string, ring: (partition: Partition) => void): Unsubscribe;
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

/** All that one batch of turns changes. Applied as one atomic step or not at all (design K3). */
export interface Commit {
  readonly lease: Lease;
  /** Cursor the store must be at: sequence number of the last handled entry. */
  readonly after: number;
  /** Cursor to move to; equal to `after` when nothing was taken from the mailbox. */
  readonly upTo: number;
  /** `at` of the entry `upTo`: a store that was rolled back and gave its number to another entry answers fenced. */
  readonly upToAt?: number;
  /**
   * Results of effects whose turns are of this very commit: appended behind `after`, where nothing else may wait, up to
   * `upTo`, and their effects closed.
   */
  readonly settles?: readonly EffectSettle[];
  /** New actor records; null deletes. */
  readonly records: readonly { readonly address: Address; readonly record: string | null }[];
  /** One row of the journal, stored under `upTo`; null for none. */
  readonly journal: string | null;
  readonly events: readonly EventAppend[];
  /** Messages to actors of this or other partitions, in order per target. */
  readonly sends: readonly { readonly partition: Partition; readonly delivery: Delivery }[];
  readonly timersSet: readonly TimerSet[];
  readonly timersCleared: readonly string[];
  readonly effectsOpened: readonly EffectOpen[];
  readonly effectsCancelled: readonly string[];
  readonly replies: readonly { readonly session: string; readonly messageId: string; readonly body: string }[];
  /** Client messages taken from each actor's mailbox depth. */
  readonly handled: readonly { readonly address: Address; readonly count: number }[];
}

export type CommitOutcome =
  | {
      readonly kind: 'committed';
      /** Store time of the commit; timers set by it are due at `at + afterMs`. */
      readonly at: number;
      /** Entries waiting behind `upTo`, up to `readAhead`: saves the next poll. */
      readonly next: readonly MailboxEntry[];
      /** Whether the outbox holds messages for other partitions. */
      readonly owes: boolean;
    }
  /** Of `settles`: something waits in the mailbox, or an effect does not run at that attempt. Nothing was written. */
  | { readonly kind: 'unsettled' }
  /** Epoch, grant or cursor is not the expected one: the lease is lost and nothing was written. */
  | { readonly kind: 'fenced' };

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
  fireTimers(leases: readonly Lease[]): Promise<(number | null)[]>;
  /**
   * Hands messages owed to other partitions over, exactly once each, in order per target. Answers whether some are
   * left. A store that appends to the target inside the commit owes nothing.
   */
  flushOutbox(lease: Lease): Promise<boolean>;
  /** Removes an archived actor: its record and its events. Answers false when fenced. */
  forget(lease: Lease, addresses: readonly Address[]): Promise<boolean>;
}

export interface EventLog {
  /** Events of one actor behind `after`, oldest first. Sequence numbers start at 1 and have no gaps (design R1). */
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
  /** Cursor after the commit. */
  readonly upTo: number;
  readonly row: string;
  /** The mailbox entries the commit handled. */
  readonly entries: readonly MailboxEntry[];
}

/** The record of all turns: mailbox entries plus one row a commit. Kept until the projector is past it (design R2). */
export interface Journal {
  readJournal(partition: Partition, after: number, limit: number): Promise<JournalRow[]>;
  /** Forgets rows and entries up to `upTo`; never past the cursor. */
  trimJournal(lease: Lease, upTo: number): Promise<void>;
}

/** Where actors live that are not at home: set if absent, in the home's slot (design K1). */
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

import type { MailboxEntry } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { TurnRow } from '../turns/turn-row.ts';

/** One commit as the projector sees it: what came in, what became of it. */
export interface ProjectedCommit {
  /** Position of its journal row (journal-position.ts). */
  readonly upTo: number;
  readonly epoch: number;
  /** Mailbox entries, then results handled beside it, which have positions for numbers. */
  readonly entries: readonly MailboxEntry[];
  readonly targets: readonly Address[];
  /** Where each of these lives. */
  readonly partitions: readonly Partition[];
  readonly rows: readonly TurnRow[];
}

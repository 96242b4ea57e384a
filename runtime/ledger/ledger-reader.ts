import type { Address, Partition } from '../address.ts';
import type { Message } from '../message.ts';
import type { TurnRow } from '../turns/actor-draft.ts';

/** One delivery as the ledger has it (R3). */
export interface LedgerDelivery {
  readonly partition: Partition;
  /** Position in the partition's log. */
  readonly seq: number;
  /**
   * For a later attempt of a failing message, and for a message that waited behind one: its place among those that the
   * delivery of the retry handled. Absent for a delivery of the mailbox. (partition, seq, part) identifies a delivery. A store that
   * lost its last writes gives positions again: such deliveries differ in `at`.
   */
  readonly part?: number;
  /** When it was appended, Unix ms on the store's clock. */
  readonly at: number;
  /** Lease epoch of the commit that handled it. */
  readonly epoch: number;
  /** Node that handled it; null in rows of earlier versions. */
  readonly node: string | null;
  /** Outcome of the turn; null when the node kept no ledger. */
  readonly row: TurnRow | null;
  /** The message as it was in the mailbox: JSON text, or the reference of a text in Blobs. */
  readonly body: string;
  /** The message. Its payload is null when the body is in Blobs: `Payloads.unpack` returns the text of `body`. */
  readonly message: Message;
  /** Id of the effect whose result or progress the message is; null for others. */
  readonly effect: string | null;
}

/** Most characters of `next`: it names the nodes that wrote the deliveries, and fits into a URL. */
export const MOST_NEXT_CHARS = 8_000;

export interface LedgerPage {
  readonly deliveries: readonly LedgerDelivery[];
  /**
   * Pass it as `after` to read what follows; null at the end. Pages neither skip nor repeat a delivery while the ledger grows:
   * deliveries that were written since the first page follow behind those that existed then.
   */
  readonly next: string | null;
}

/** Deliveries by time. */
export interface RecentPage extends LedgerPage {
  /** The value of `after` that reads what follows one of these deliveries. */
  readonly nextBehind: (delivery: LedgerDelivery) => string;
}

interface PageWish {
  /** From 1 to 1,000. */
  readonly limit: number;
  readonly after?: string | undefined;
}

/**
 * Finds deliveries by their keys. Every look-up names a tenant. Segments that were written before the ledger had keys are found
 * by time only (`recent`). Implemented by `KeyedLedger` (keyed-ledger.ts).
 */
export interface LedgerReader {
  /** All deliveries of one message, oldest first: more than one after retries. */
  message(tenant: string, id: string): Promise<readonly LedgerDelivery[]>;
  /** Deliveries of messages whose cause is this message, oldest first. */
  causedBy(tenant: string, id: string): Promise<readonly LedgerDelivery[]>;
  /** Deliveries of a trace in the order of (at, partition, seq). */
  trace(tenant: string, trace: string, page: PageWish): Promise<LedgerPage>;
  /** Deliveries to one actor in the order of seq. When it lived in several partitions, one follows the other by time. */
  actor(address: Address, page: PageWish & { readonly newestFirst?: boolean | undefined }): Promise<LedgerPage>;
  /** Deliveries with an effect's results. The effect was requested by the turn of the message that is their cause. */
  effect(tenant: string, effectId: string): Promise<readonly LedgerDelivery[]>;
  /**
   * Newest first by time, for lists of traces; with `roots` only deliveries without a cause. The work of a call is
   * bounded, so a page may be short, or empty, although `next` says that more follows.
   */
  recent(
    tenant: string,
    page: PageWish & {
      /** Unix ms, inclusive. */
      readonly from?: number | undefined;
      /** Unix ms, inclusive. */
      readonly to?: number | undefined;
      readonly roots?: boolean | undefined;
    },
  ): Promise<RecentPage>;
  /** Unix ms from which on the deliveries of a tenant are kept; null when nothing was removed. */
  keptFrom(tenant: string): Promise<number | null>;
}

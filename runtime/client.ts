import type { Backlog } from './actor-store.ts';
import type { Address, Partition } from './address.ts';
import type { Identity } from './identity.ts';
import type { Json } from './json.ts';

export interface CallOptions {
  readonly identity?: Identity;
  /** Repeat with the same id to retry safely: the message is handled once. Default: a fresh UUID. */
  readonly messageId?: string;
  /** The recipient's id was drawn for this call, so nothing of it is anywhere yet. Has no effect beside `messageId`. */
  readonly isFirst?: boolean;
  /** W3C trace id, 32 hex digits. */
  readonly trace?: string;
  /** For ask: how long to wait. Default 30,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** One event of an actor's stream: `seq` counts 1, 2, 3 … without gaps (R1). */
export interface ActorEvent {
  readonly seq: number;
  /** Unix ms, recorded time of the turn that emitted it. */
  readonly at: number;
  readonly name: string;
  readonly payload: Json;
}

/** Committed state of an actor, live or from the archive. */
export interface ActorSnapshot {
  readonly address: Address;
  /** Checked by the definition of its kind; parse it with that kind's state schema. */
  readonly state: unknown;
  /** Number of turns that changed it. */
  readonly revision: number;
  /** Sequence number of its last event. */
  readonly lastEvent: number;
  readonly archived: boolean;
  /** Set while a message of the actor keeps failing (K6). */
  readonly stuck: { readonly messageType: string; readonly error: string; readonly attempts: number } | null;
}

/** Where an actor should live (P1, P4). */
export interface PlaceWish {
  /** Tags that a node must have to serve it; with none every worker may. */
  readonly tags: readonly string[];
  /** In a partition that this very node serves. */
  readonly here?: boolean;
}

export interface PlaceOutcome {
  readonly pool: string;
  readonly partition: Partition;
  /** False: no member may serve the pool now; messages wait until one comes. */
  readonly served: boolean;
}

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** Silence after which null is yielded. */
  readonly heartbeatMs: number;
  /**
   * A wake-up may be lost, so it is looked again: at least so often, the later the longer nothing came. Default 2,000; more
   * where very many follow at once.
   */
  readonly mostLookAgainMs?: number;
}

/**
 * How transports, areas and tests reach actors. The only way in: every write is a message.
 * Implemented by `MailboxClient` (calls/mailbox-client.ts).
 */
export interface ActorClient {
  /** Sends a message; resolves when it is durable in the mailbox. Throws `mailbox_full`, `unavailable`. */
  tell(to: Address, type: string, payload: Json, options?: CallOptions): Promise<void>;
  /** Sends a message and waits for the committed answer. A refusal is thrown as its `SvcError`. */
  ask(to: Address, type: string, payload: Json, options?: CallOptions): Promise<Json>;
  /**
   * Reads committed state without waking the actor; null when it never existed. `known`, from an earlier read, is answered
   * itself when nothing has changed since: nothing is fetched from aside, decoded or checked then.
   */
  read(address: Address, known?: ActorSnapshot | null): Promise<ActorSnapshot | null>;
  /** Events behind `after`, at most `limit`, live or from the archive. */
  events(address: Address, after: number, limit: number): Promise<ActorEvent[]>;
  /**
   * Follows the stream from behind `after`; ends after a final event (R1). `null` is yielded about every
   * `heartbeatMs` of silence.
   */
  follow(address: Address, after: number, options: FollowOptions): AsyncIterable<ActorEvent | null>;
  /**
   * Gives an actor of a `placed` kind a home before its first message is sent; the first placement of an address
   * counts. Without it an actor lives at its address' home in its kind's pool.
   */
  place(address: Address, wish: PlaceWish): Promise<PlaceOutcome>;
  /** Whether some member may serve a pool now. */
  isServed(pool: string): Promise<boolean>;
  /** Mailbox of one actor's partition, and how many client messages wait for the actor itself. */
  mailbox(address: Address): Promise<Backlog & { readonly depth: number }>;
}

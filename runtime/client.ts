import type { Backlog } from './actor-store.ts';
import type { Address, Partition } from './address.ts';
import type { WaitingMessages, WaitingPage } from './calls/waiting-messages.ts';
import type { Identity } from './identity.ts';
import type { Json } from './json.ts';
import type { TraceContext } from './tracing/trace-context.ts';

export interface CallOptions {
  readonly identity?: Identity;
  /** Repeat a call with the same id to retry it safely: the message is handled once. Default: a new UUID. */
  readonly messageId?: string;
  /**
   * The recipient's id was created for this call, so the store holds nothing of it yet. Ignored when `messageId` is
   * given.
   */
  readonly isFirst?: boolean;
  /** W3C trace id, 32 hex digits. Default: that of the effect that makes the call, else a new one. */
  readonly trace?: string;
  /** Id of a message of that trace from which the call follows. Default: as for `trace`, else none. */
  readonly cause?: string;
  /** The trace context of that trace's messages. Default: as for `trace`. */
  readonly traceContext?: TraceContext;
  /** How long `ask` waits, milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** One event of an actor's stream: `seq` counts 1, 2, 3 … without gaps (R1). */
export interface ActorEvent {
  readonly seq: number;
  /** Recorded time of the turn that emitted it, Unix ms. */
  readonly at: number;
  readonly name: string;
  readonly payload: Json;
}

/** Committed state of an actor, read from the store or from the archive. */
export interface ActorSnapshot {
  readonly address: Address;
  /** Checked by the definition of its kind. Parse it with that kind's state schema. */
  readonly state: unknown;
  /** Number of turns that changed the state. */
  readonly revision: number;
  /** Sequence number of the actor's last event. */
  readonly lastEvent: number;
  readonly archived: boolean;
  /** Names of its pending timers, those of the kernel included. */
  readonly timers: readonly string[];
  /** Ids of its unsettled effects. */
  readonly effects?: readonly string[];
  /** The trace that the actor's next messages continue; absent while that trace has one delivery. */
  readonly trace?: string | undefined;
  /** Set while a message of the actor keeps failing (K6). */
  readonly stuck: { readonly messageType: string; readonly error: string; readonly attempts: number } | null;
}

/** Where an actor should live (P1, P4). */
export interface PlaceWish {
  /** Tags that a node must have to serve the actor. An empty list allows every worker. */
  readonly tags: readonly string[];
  /** Choose a partition that this node serves. */
  readonly here?: boolean;
  /** Place it in the pool of controllers, whatever its tags. */
  readonly pool?: 'system';
}

export interface PlaceOutcome {
  readonly pool: string;
  readonly partition: Partition;
  /** False when no member may serve the pool now. Messages wait until one joins. */
  readonly served: boolean;
}

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** After this many milliseconds without an event, null is yielded. */
  readonly heartbeatMs: number;
  /**
   * Longest pause between two reads of the stream, milliseconds. Reads repeat because a wake-up may get lost. Absent: every
   * 2,000, one read for all that follow the actor. Present: this follower reads for itself, and the pause grows while no event
   * comes; for very many callers that each follow an actor of their own.
   */
  readonly mostLookAgainMs?: number;
  /**
   * Called once, when the first read does not show that the actor runs: it found no event, or a final one. What it throws ends
   * the stream. For callers that need not check an actor that runs.
   */
  readonly unlessRunning?: () => Promise<void>;
}

export interface ReadOptions {
  /**
   * The state may be the frozen object that the actor's turns use, with undefined members: nothing is decoded and checked. For
   * callers that read some fields and pass nothing on.
   */
  readonly shared?: boolean;
  /**
   * The state is as the store has it, migrated but not checked. For callers that check it themselves, with the schema of
   * its kind or of the fields that they read.
   */
  readonly unchecked?: boolean;
}

/**
 * Transports, other modules and tests reach actors through it. Every write is a message. Implemented by `MailboxClient`
 * (calls/mailbox-client.ts).
 */
export interface ActorClient {
  /** Sends a message and resolves when it is durable in the mailbox. Throws `mailbox_full` or `unavailable`. */
  tell(to: Address, type: string, payload: Json, options?: CallOptions): Promise<void>;
  /** Sends a message and waits for the committed answer. Throws the actor's refusal as its `SvcError`. */
  ask(to: Address, type: string, payload: Json, options?: CallOptions): Promise<Json>;
  /**
   * Reads committed state without activating the actor; null when it never existed. When nothing has changed since the
   * earlier read `known`, it returns `known` itself: it fetches, decodes and checks nothing.
   */
  read(address: Address, known?: ActorSnapshot | null, options?: ReadOptions): Promise<ActorSnapshot | null>;
  /** Returns at most `limit` events behind `after`, from the store or from the archive. */
  events(address: Address, after: number, limit: number): Promise<ActorEvent[]>;
  /**
   * Follows the stream from behind `after`; ends after a final event (R1). It yields `null` after about every
   * `heartbeatMs` without an event.
   */
  follow(address: Address, after: number, options: FollowOptions): AsyncIterable<ActorEvent | null>;
  /**
   * Gives an actor of a `placed` kind a partition before its first message is sent. The first placement of an address
   * holds. An actor that was not placed lives in its home partition, in the pool of its kind.
   */
  place(address: Address, wish: PlaceWish): Promise<PlaceOutcome>;
  /** Returns whether a member may serve a pool now. */
  isServed(pool: string): Promise<boolean>;
  /**
   * Returns the backlog of the actor's partition, and in `depth` how many client messages wait for the actor itself.
   */
  mailbox(address: Address): Promise<Backlog & { readonly depth: number }>;
  /**
   * Lists the messages that wait for an actor, oldest first. A page holds about `limit`; it may hold fewer, or none, although
   * `next` says where the next one begins. Messages that are handled meanwhile may be missing.
   */
  waiting(address: Address, page: WaitingPage): Promise<WaitingMessages>;
}

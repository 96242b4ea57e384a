import { z } from 'zod';
import { type Address, isAddress, type Partition } from './address.ts';
import type { Identity } from './identity.ts';
import { type Json, jsonField } from './json.ts';
import type { TraceContext } from './tracing/trace-context.ts';

/** A message as it is delivered to a mailbox. */
export interface Delivery {
  readonly id: string;
  readonly to: Address;
  /** Encoded message. */
  readonly body: string;
  /**
   * For an append: the id was created for this call, so only the process that appends the message can repeat it. The
   * store may recognise it by other means than its id.
   */
  readonly fresh?: boolean;
  /**
   * For an append: its caller waits for the answer, and the commit that answers makes everything before it durable. The append
   * itself need not be durable.
   */
  readonly awaited?: boolean;
  /**
   * For a send in a commit: the store sends no wake-up for it. The sender's kernel later sends one wake-up for many
   * such messages.
   */
  readonly lazy?: boolean;
}

export interface MailboxEntry {
  /**
   * Position in the log. It grows; in a partition's own log it is 1, 2, 3 … without gaps while the log is not shared.
   */
  readonly seq: number;
  /** When it was appended, Unix milliseconds on the store's clock. */
  readonly at: number;
  readonly body: string;
  /** For an entry of a shared log: the partition that it is for. Absent: the log is the partition's own. */
  readonly partition?: Partition;
  /** Why the body is still encrypted: its key cannot be had now. `ActorStore.unlock` reads it later. */
  readonly locked?: string;
}

/** Where a message comes from. The mailbox bound counts `client` messages only (K7). */
export type MessageOrigin = 'client' | 'actor' | 'timer' | 'effect';

/**
 * One message for one actor. Everything that reaches an actor is one: a call from a transport, a message of another
 * actor, a timer, a result of an effect.
 */
export interface Message {
  /** UUID. A client message whose id was seen before is dropped (K3). */
  readonly id: string;
  readonly to: Address;
  /** Sending actor, or null for a client. */
  readonly from: Address | null;
  /** Id of the message whose turn sent this one. */
  readonly cause: string | null;
  /**
   * W3C trace id, 32 hex digits. All messages that follow from this one carry the same id, until the trace is so long
   * that it goes on in a linked one.
   */
  readonly trace: string;
  /**
   * Deliveries of the trace that the sender knows of, and how many of these the recipient does not. Absent in a short
   * trace.
   */
  readonly reported?: readonly [count: number, unreported: number];
  /** Trace context of the messages of the trace. */
  readonly traceContext?: TraceContext;
  /** The trace of its cause, when this message continues it in a linked one. */
  readonly causeTrace?: string;
  /** For a call: the span of the caller, 16 hex digits. */
  readonly parentSpan?: string;
  readonly origin: MessageOrigin;
  /** Key of the recipient's `messages` table. */
  readonly type: string;
  readonly payload: Json;
  readonly identity?: Identity;
  /** Reply session of the node that asked. The answer is sent there as (message id, body). */
  readonly session?: string;
  /** For a client's message: its id was created for this call, so no other process appends it again. */
  readonly fresh?: true;
  /** The recipient's id was created for this message, so the archive need not be searched for it. */
  readonly first?: true;
  /** When an actor asked: the message type under which it receives the answer. */
  readonly replyAs?: string;
  /** Timer name, for `origin: timer`. */
  readonly timer?: string;
}

/** A message with the trace that its turn continues. */
export interface HandledMessage extends Message {
  /** The trace that the message came in, when it is another one. */
  readonly leftTrace?: string;
}

/** Trace context of a message that follows from another one in its trace. */
export const contextOf = ({ traceContext }: Pick<Message, 'traceContext'>): Pick<Message, 'traceContext'> =>
  traceContext === undefined ? {} : { traceContext };

/** The answer that `turn.reply` or `turn.refuse` sends back. */
export type Reply =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly details?: Json };

/**
 * Asks an actor to send a message when it has ended: the receiver, the type of the message, and a context that it
 * returns unchanged.
 */
export const Notify = z.object({
  to: z.custom<Address>(isAddress, 'expected an address kind/tenant/id'),
  /** Message type for the receiver. */
  as: z.string().min(1).max(100),
  context: jsonField,
});

export type Notify = z.output<typeof Notify>;

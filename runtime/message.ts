import { z } from 'zod';
import { type Address, type Partition, parseAddress } from './address.ts';
import type { Identity } from './identity.ts';
import { type Json, jsonField } from './json.ts';

/** A message on its way into a mailbox. */
export interface Delivery {
  readonly id: string;
  readonly to: Address;
  /** Encoded message. */
  readonly body: string;
  /**
   * Of an append: its id was made for this call, so only the process that appends it can repeat it. A store may know it
   * again by other means than its id.
   */
  readonly fresh?: boolean;
  /** Of a commit's send: the store sends no wake-up for it; the sender's kernel sends a later one for many. */
  readonly lazy?: boolean;
}

export interface MailboxEntry {
  /** Position in the log: growing, in a partition's own log 1, 2, 3 … without gaps while it is not shared. */
  readonly seq: number;
  /** When it was appended, Unix milliseconds on the store's clock. */
  readonly at: number;
  readonly body: string;
  /** Of a shared log: the partition that it is for. Absent: the log's own. */
  readonly partition?: Partition;
}

/** How a message came to be; the mailbox bound counts `client` messages only (K7). */
export type MessageOrigin = 'client' | 'actor' | 'timer' | 'effect';

/**
 * One message of one actor. Everything that reaches an actor is one of these: a call from a transport, a word from
 * another actor, a timer, a result of an effect.
 */
export interface Message {
  /** UUID; a client message with an id seen before is dropped (K3). */
  readonly id: string;
  readonly to: Address;
  /** Sending actor, or null for a client. */
  readonly from: Address | null;
  /** Id of the message whose turn sent this one. */
  readonly cause: string | null;
  /** W3C trace id, 32 hex digits; stays the same down the whole tree of causes. */
  readonly trace: string;
  readonly origin: MessageOrigin;
  /** Key of the recipient's `messages` table. */
  readonly type: string;
  readonly payload: Json;
  readonly identity?: Identity;
  /** Reply session of the asking node: an answer goes there as (message id, body). */
  readonly session?: string;
  /** Of a client's message: its id was made for this call, so nobody else appends it again. */
  readonly fresh?: true;
  /** The recipient's id was drawn for this message, so what has ended need not be searched for it. */
  readonly first?: true;
  /** Asked by an actor: the type under which that actor wants the answer. */
  readonly replyAs?: string;
  /** Timer name, for `origin: timer`. */
  readonly timer?: string;
}

/** What `turn.reply` or `turn.refuse` sends back to an asker. */
export type Reply =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly details?: Json };

/** Asks an actor to send a message when it has ended: the receiver, the type of the message, and a context it returns unchanged. */
export const Notify = z.object({
  to: z.custom<Address>((value) => {
    if (typeof value !== 'string') return false;
    try {
      parseAddress(value);
      return true;
    } catch {
      return false;
    }
  }, 'expected an address kind/tenant/id'),
  /** Message type for the receiver. */
  as: z.string().min(1).max(100),
  context: jsonField,
});

export type Notify = z.output<typeof Notify>;

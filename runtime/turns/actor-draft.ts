import type { Address, Partition } from '../address.ts';
import type { ActorDefinition } from '../define-actor.ts';
import type { SvcError } from '../errors.ts';
import type { Message, Reply } from '../message.ts';
import type { ActorRecord } from './record.ts';

/** What a batch makes of one actor. */
export interface ActorDraft {
  readonly activation: Activation;
  record: ActorRecord;
  dirty: boolean;
  readonly firstEvent: number;
  readonly events: { name: string; at: number; payload: unknown }[];
}

export const beginDraft = (activation: Activation): ActorDraft => ({
  activation,
  record: activation.record,
  dirty: false,
  firstEvent: activation.record.lastEvent + 1,
  events: [],
});

/** The store closed the effect when it took the result; the actor's list follows. */
export function withoutSettled(record: ActorRecord, message: Message): ActorRecord {
  if (message.origin !== 'effect' || record.effects.length === 0) return record;
  const { payload } = message;
  if (payload === null || typeof payload !== 'object' || Array.isArray(payload) || !('outcome' in payload))
    return record;
  return { ...record, effects: record.effects.filter((id) => id !== payload.effectId) };
}

/** An actor in memory: its committed record, its committed text, and what this batch made of it. */
export interface Activation {
  readonly address: Address;
  /** Where it lives. */
  readonly partition: Partition;
  readonly tenant: string;
  readonly definition: ActorDefinition;
  record: ActorRecord;
  /** Committed encoding; null while the actor does not exist in the store. */
  text: string | null;
  /** Its text names bytes that nothing else names (payload.ts): they may go when a later commit has replaced it. */
  owned: boolean;
  /** Characters of its encoded record, wherever that is stored. */
  size: number;
}

/**
 * One line of the journal (R3): what became of one mailbox entry. One that was `postponed` had no turn; it has another line
 * when it is handled.
 */
export interface TurnRow {
  readonly outcome: 'done' | 'refused' | 'retried' | 'deferred' | 'stale' | 'dead-lettered' | 'postponed';
  /** Recorded time of the turn. */
  readonly now: number;
  readonly waitMs: number;
  readonly turnUs: number;
  readonly error?: string;
  /** Messages that waited behind a failing one and were handled in this turn. */
  readonly drained?: readonly { readonly body: string; readonly outcome: string; readonly error?: string }[];
}

/** What a batch does with messages that fail. */
export interface FailureRules extends RetrySettings {
  /** Most messages set aside that one retry drains; the rest waits for the next. */
  readonly drainLimit: number;
  /** Messages that are not run since their handlers threw when they were recorded: id -> error (replay.ts). */
  readonly failing?: ReadonlyMap<string, string>;
  /** Set: every message counts as failing with this error. */
  readonly failAll?: string;
  /** Set: no turn runs and every message is dead-lettered with this error. */
  readonly deadLetterAll?: SvcError;
}

/** With so many messages behind it a failing one is not waited for any longer. */
export const MOST_BEHIND = 500;

/** Name of the kernel's own timer that brings a failing message back (K6). */
export const RETRY_TIMER = '$retry';

export interface RetrySettings {
  /** Attempts before a message is dead-lettered. */
  readonly maxAttempts: number;
  /** Delay before the second attempt; doubles with each, up to `maxDelayMs`. */
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
}

/** A timer's id in the store: setting a name again replaces the one before. */
export const timerId = (address: Address, name: string): string => `${address}#${name}`;

/** An error as an asker gets it. */
export const failure = (error: SvcError): Reply => ({
  ok: false,
  code: error.code,
  message: error.message,
  ...(error.details === undefined ? {} : { details: error.details.map((detail) => ({ ...detail })) }),
});

/** Ids of kernel-made messages derive from the message that caused them, so a re-run makes the same ones. */
export function retryMessage(cause: Message, attempts: number): Message {
  return {
    id: `${cause.id}-retry-${attempts}`,
    to: cause.to,
    from: cause.to,
    cause: cause.id,
    trace: cause.trace,
    origin: 'timer',
    type: RETRY_TIMER,
    payload: {},
    timer: RETRY_TIMER,
  };
}

export function answerMessage(asked: Message, to: Address, type: string, reply: Reply): Message {
  return {
    id: `${asked.id}-reply`,
    to,
    from: asked.to,
    cause: asked.id,
    trace: asked.trace,
    origin: 'actor',
    type,
    payload: reply.ok
      ? { ok: true, value: reply.value }
      : {
          ok: false,
          code: reply.code,
          message: reply.message,
          ...(reply.details === undefined ? {} : { details: reply.details }),
        },
  };
}

import type { Address, Partition } from '../address.ts';
import type { ActorDefinition } from '../define-actor.ts';
import type { SvcError } from '../errors.ts';
import { isJsonObject } from '../json.ts';
import { contextOf, type HandledMessage, type Message, type Reply } from '../message.ts';
import type { ActorRecord } from './record.ts';

/** The changes of a batch to one actor. */
export interface ActorDraft {
  readonly activation: Activation;
  record: ActorRecord;
  dirty: boolean;
  readonly firstEvent: number;
  readonly events: { name: string; at: number; payload: unknown }[];
  /** The line of the last turn that changed the state, as long as its digest lacks the state (digest.ts). */
  unsummed: { digest?: string } | null;
}

export const beginDraft = (activation: Activation): ActorDraft => ({
  activation,
  record: activation.record,
  dirty: false,
  firstEvent: activation.record.lastEvent + 1,
  events: [],
  unsummed: null,
});

/** Removes the effect of a result from the actor's list: the store closed it when it took the result. */
export function withoutSettled(record: ActorRecord, message: Message): ActorRecord {
  if (message.origin !== 'effect' || record.effects.length === 0) return record;
  const { payload } = message;
  if (!isJsonObject(payload) || !('outcome' in payload)) return record;
  return { ...record, effects: record.effects.filter((id) => id !== payload.effectId) };
}

/** An actor in memory: its committed record and its committed text. */
export interface Activation {
  readonly address: Address;
  /** Partition in which the actor lives. */
  readonly partition: Partition;
  /** Term of its partition in this process under which it was loaded (`ActorCache.termOf`). */
  readonly term: number;
  readonly tenant: string;
  readonly definition: ActorDefinition;
  record: ActorRecord;
  /** Committed encoding; null while the actor does not exist in the store. */
  text: string | null;
  /**
   * Its text refers to bytes that no other text refers to (payload.ts): they may be deleted after a later commit
   * replaced it.
   */
  owned: boolean;
  /** Characters of its encoded record, wherever it is stored. */
  size: number;
}

/**
 * One line of the journal (R3): the outcome of one mailbox entry. A `postponed` entry had no turn and gets another line
 * when it is handled.
 */
export interface TurnRow {
  readonly outcome: 'done' | 'refused' | 'retried' | 'deferred' | 'stale' | 'dead-lettered' | 'postponed';
  /** Recorded time of the turn. */
  readonly now: number;
  readonly waitMs: number;
  readonly turnUs: number;
  readonly error?: string;
  /** Which attempt of the message it was. Absent: the first. The rows of retries have it in `drained`. */
  readonly attempt?: number;
  /** What the turn decided (digest.ts). Absent without a turn, and in rows of earlier versions. */
  readonly digest?: string;
  /** For the retry of a failing message: that message again, and those that waited behind it. */
  readonly drained?: readonly DrainedTurn[];
}

/** The turn of one message that a retry handled. */
export interface DrainedTurn {
  readonly body: string;
  readonly outcome: TurnRow['outcome'];
  readonly error?: string;
  /** Which attempt of the message it was. Absent: the first, or a row of an earlier version. */
  readonly attempt?: number;
  /** Absent in rows of earlier versions. */
  readonly turnUs?: number;
  readonly digest?: string;
}

/** How a batch treats messages that fail. */
export interface FailureRules extends RetrySettings {
  /** Most deferred messages that one retry drains; the rest waits for the next. */
  readonly drainLimit: number;
  /** Messages that are not run because their handlers threw when they were recorded: id -> error (replay.ts). */
  readonly failing?: ReadonlyMap<string, string>;
  /** Whether rows get digests of what the turns decided. */
  readonly digests?: boolean;
  /** When set, every message counts as failed with this error. */
  readonly failAll?: string;
  /** When set, no turn runs and every message is dead-lettered with this error. */
  readonly deadLetterAll?: SvcError;
}

/** With this many messages behind it, a failing message gets one last attempt instead of further retries. */
export const MOST_BEHIND = 500;

/** Name of the kernel's own timer that delivers a failing message again (K6). */
export const RETRY_TIMER = '$retry';

export interface RetrySettings {
  /** Attempts before a message is dead-lettered. */
  readonly maxAttempts: number;
  /** Delay before the second attempt; doubles with each, up to `maxDelayMs`. */
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
}

/** A timer's id in the store. Setting a name again replaces the earlier timer. */
export const timerId = (address: Address, name: string): string => `${address}#${name}`;

/** Converts an error to the reply for the caller. */
export const failure = (error: SvcError): Reply => ({
  ok: false,
  code: error.code,
  message: error.message,
  ...(error.details === undefined ? {} : { details: error.details.map((detail) => ({ ...detail })) }),
});

/** Builds the message of a retry. Its id derives from the failing message, so a second run builds the same one. */
export function retryMessage(cause: Message, attempts: number): Message {
  return {
    id: `${cause.id}-retry-${attempts}`,
    to: cause.to,
    from: cause.to,
    cause: cause.id,
    trace: cause.trace,
    ...contextOf(cause),
    origin: 'timer',
    type: RETRY_TIMER,
    payload: {},
    timer: RETRY_TIMER,
  };
}

export function answerMessage(asked: HandledMessage, to: Address, type: string, reply: Reply): Message {
  return {
    id: `${asked.id}-reply`,
    to,
    from: asked.to,
    cause: asked.id,
    trace: asked.trace,
    ...contextOf(asked),
    ...(asked.leftTrace === undefined ? {} : { causeTrace: asked.leftTrace }),
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

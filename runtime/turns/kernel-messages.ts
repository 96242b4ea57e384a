import type { Address } from '../address.ts';
import type { SvcError } from '../errors.ts';
import type { Message, Reply } from '../message.ts';

/** Name of the kernel's own timer that brings a failing message back (design K6). */
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

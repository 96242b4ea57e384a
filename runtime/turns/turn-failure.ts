import type { RetrySettings } from './kernel-messages.ts';

/** What a batch does with messages that fail. */
export interface FailureRules extends RetrySettings {
  /** Most messages set aside that one retry drains; the rest waits for the next. */
  readonly drainLimit: number;
  /** Message id -> error of its handler. */
  readonly failing: ReadonlyMap<string, string>;
  /** Set: every message counts as failing with this error. */
  readonly failAll: string | undefined;
}

/** With so many messages behind it a failing one is not waited for any longer. */
export const MOST_BEHIND = 500;

/** Ends a batch early: the message's handler threw. The batch is run again with the message marked as failing. */
export class TurnFailed extends Error {
  override readonly name = 'TurnFailed';
  readonly messageId: string;
  constructor(messageId: string, cause: Error) {
    super(cause.message, { cause });
    this.messageId = messageId;
  }
}

import type { RetrySettings } from './kernel-messages.ts';

/** What a batch does with messages that fail. */
export interface FailureRules extends RetrySettings {
  /** Most messages set aside that one retry drains; the rest waits for the next. */
  readonly drainLimit: number;
  /** Messages that are not run since their handlers threw when they were recorded: id -> error (replay.ts). */
  readonly failing?: ReadonlyMap<string, string>;
  /** Set: every message counts as failing with this error. */
  readonly failAll: string | undefined;
}

/** With so many messages behind it a failing one is not waited for any longer. */
export const MOST_BEHIND = 500;

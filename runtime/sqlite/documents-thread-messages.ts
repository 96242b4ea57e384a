import { type ErrorCode, type OwnStore, SvcError } from '../errors.ts';
import type { DocumentOutcome, DocumentWrite } from './documents-write.ts';

/** Data with which the thread is started. */
export interface ThreadData {
  readonly path: string;
  readonly busyTimeoutMs: number;
}

/** A group of writes, or the end. Groups are answered in order, one answer each. */
export type ThreadRequest = readonly DocumentWrite[] | 'close';

/** An error that crosses between threads: structured clone keeps neither class nor code. */
interface CarriedError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly store: OwnStore | undefined;
  readonly field: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly cause: string | undefined;
}

/** `open` once the file is open, then the outcomes of each group. */
export type ThreadAnswer = 'open' | readonly (number | CarriedError)[];

export const carried = (outcome: DocumentOutcome): number | CarriedError => {
  if (typeof outcome === 'number') return outcome;
  const { code, message, store, field, retryAfterMs, cause } = outcome;
  return { code, message, store, field, retryAfterMs, cause: cause instanceof Error ? cause.message : undefined };
};

export const received = (outcome: number | CarriedError): DocumentOutcome => {
  if (typeof outcome === 'number') return outcome;
  const { code, message, store, field, retryAfterMs, cause } = outcome;
  return new SvcError(code, message, {
    ...(store === undefined ? {} : { store }),
    ...(field === undefined ? {} : { field }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(cause === undefined ? {} : { cause: new Error(cause) }),
  });
};

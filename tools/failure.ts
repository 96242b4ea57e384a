import type { ToolOutcome } from '../manifests/tool/call.ts';
import type { DenialReason } from '../manifests/tool/decision.ts';
import type { ErrorCode } from '../runtime/errors.ts';
import type { JsonObject } from '../runtime/json.ts';

export type FailureClass = NonNullable<ToolOutcome['error']>['class'];

/** Errors that tools have themselves (spec 3, Tool-level errors); codes of runtime/errors.ts and denials are used too. */
export type FailureCode =
  | DenialReason
  | ErrorCode
  | 'NOT_FOUND'
  | 'PERMISSION_DENIED'
  | 'ALREADY_EXISTS'
  | 'OutputSizeLimitExceeded'
  | 'ExecTimeoutCeilingExceeded'
  | 'BinaryFile'
  | 'NotADirectory'
  | 'NotAFile'
  | 'DirectoryNotEmpty'
  | 'FileTooLarge'
  | 'TextNotFound'
  | 'TextNotUnique'
  | 'FileChanged'
  | 'InvalidRegex'
  | 'InvalidGlob'
  | 'SearchTooLong'
  | 'QuotaExceeded'
  | 'FetchFailed'
  | 'SearchFailed'
  | 'TimedOut'
  | 'CommandNotFound'
  | 'MemoryLimitExceeded'
  | 'ProcessLimitExceeded'
  | 'ToolNotAvailable'
  | 'ToolFailed';

const REFUSED = ' This is not available to you: do not try it again.';

/**
 * A tool that could not do what it was asked: a result for the caller, not a failed effect. The message says what went
 * wrong and what to do; one of class `policy` says that trying again is no use.
 */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';
  readonly code: FailureCode;
  readonly class: FailureClass;
  /** Of a limit that passes. */
  retryAfterMs: number | undefined;
  /** What the caller gets beside the text. */
  structured: JsonObject | undefined;

  constructor(code: FailureCode, message: string, failureClass: FailureClass = 'recoverable', cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.class = failureClass;
  }

  static denied(reason: FailureCode, message: string): ToolFailure {
    return new ToolFailure(reason, `${message}${REFUSED}`, 'policy');
  }
}

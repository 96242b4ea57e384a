import type { z } from 'zod';
import { expectation } from '../manifests/expectation.ts';
import { STORED_ABOVE_BYTES, type ToolOutcome, type ToolRun } from '../manifests/tool/call.ts';
import { storedContent, type ToolContract, textContent } from '../manifests/tool/contract.ts';
import type { DenialReason } from '../manifests/tool/decision.ts';
import { type Blobs, PAYLOAD_LIMIT_BYTES } from '../runtime/blobs.ts';
import type { ErrorCode } from '../runtime/errors.ts';
import type { Json, JsonObject } from '../runtime/json.ts';

/** One call as its handler sees it. */
export interface ToolCall {
  readonly run: ToolRun;
  readonly tenant: string;
  /** UUID of the call: the same when it is repeated after a crash, so what it starts under this id starts once. */
  readonly id: string;
  /** W3C trace id: what the call starts belongs to the same tree of causes. */
  readonly trace: string;
  readonly signal: AbortSignal;
  /** How long it may take, milliseconds. Absent: without end. */
  readonly timeoutMs?: number;
  /** Of a call that is repeated after a crash: how long ago it was first made, milliseconds. */
  readonly askedAgoMs?: number;
  /** Tells whoever waits how it goes on. */
  progress(value: Json): Promise<boolean>;
  /** Waits for what takes no work of this node, without a place among its effects; `waiting` must heed the signal. */
  parked<T>(waiting: Promise<T>): Promise<T>;
}

/** What a tool answers: text (W30), and the object where the result is one. */
export interface ToolAnswer {
  readonly text: string;
  readonly structured?: JsonObject;
}

/** One built-in tool: its contract, and what it does. Failures of the tool are `ToolFailure`s. */
export interface Tool {
  readonly contract: ToolContract;
  run(given: unknown, call: ToolCall): Promise<ToolAnswer>;
}

/** Puts a handler beside its contract. The arguments are checked again where they are used: a grant may be old. */
export function defineTool<Input extends z.ZodType>(
  contract: ToolContract<Input>,
  handler: (input: z.output<Input>, call: ToolCall) => Promise<ToolAnswer>,
): Tool {
  return {
    contract,
    async run(given, call) {
      const parsed = contract.input.safeParse(given, { error: expectation });
      if (parsed.success) return handler(parsed.data, call);
      const issue = parsed.error.issues[0];
      const field = issue?.path.join('.') || 'arguments';
      throw new ToolFailure(
        'InvalidArguments',
        `${contract.name}: ${field}: ${issue?.message ?? 'expected another value'}`,
      );
    },
  };
}

/** A result before its size is looked at. */
export type WholeOutcome = Omit<ToolOutcome, 'stored' | 'duration_ms'>;

const MAX_ERROR_CHARS = 2_000;

/** What the caller gets of a tool that failed. */
export function failedOutcome(failure: ToolFailure): WholeOutcome {
  const { code, class: failureClass, message, retryAfterMs, structured } = failure;
  const said = message.slice(0, MAX_ERROR_CHARS);
  return {
    // Callers know this one by its text (W31).
    content: textContent(code === 'cortex_not_configured' ? said : `${code}: ${said}`),
    ...(structured === undefined ? {} : { structured }),
    is_error: true,
    error: {
      ...{ code, class: failureClass, message: said },
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
    },
  };
}

/**
 * Bounds a result: one over `maxBytes` is an error of the tool, a large one is stored aside whole and only its beginning
 * goes on in messages.
 */
export async function boundedOutcome(
  whole: WholeOutcome,
  bounds: { readonly tenant: string; readonly owner: string; readonly blobs: Blobs; readonly maxBytes: number },
): Promise<Omit<ToolOutcome, 'duration_ms'>> {
  const { content, structured } = whole;
  const json = Buffer.from(JSON.stringify(structured === undefined ? { content } : { content, structured }));
  const maxBytes = Math.min(bounds.maxBytes, PAYLOAD_LIMIT_BYTES);
  if (answerBytes(whole) > maxBytes || json.length > PAYLOAD_LIMIT_BYTES) {
    const text = `the result has more than the ${maxBytes} bytes that are allowed: ask for less of it`;
    return failedOutcome(new ToolFailure('OutputSizeLimitExceeded', text));
  }
  if (json.length <= STORED_ABOVE_BYTES) return whole;
  const ref = await bounds.blobs.put(bounds.tenant, json, bounds.owner);
  const { structured: _aside, ...rest } = whole;
  return { ...rest, content: headOf(whole), stored: { ref, bytes: json.length } };
}

/** What a tool answered: its texts, or where it has none all of its content. */
function answerBytes({ content }: WholeOutcome): number {
  let bytes = 0;
  for (const part of content) {
    bytes += Buffer.byteLength(typeof part.text === 'string' ? part.text : JSON.stringify(part));
  }
  return bytes;
}

/** The beginning of the first text. */
function headOf({ content }: WholeOutcome): WholeOutcome['content'] {
  const text = content.find((part) => typeof part.text === 'string')?.text;
  return storedContent(typeof text === 'string' ? text : '');
}

type FailureClass = NonNullable<ToolOutcome['error']>['class'];

/** Errors that tools have themselves (W31); codes of runtime/errors.ts and denials are used too. */
type FailureCode =
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

import type { z } from 'zod';
import { expectation } from '../manifests/expectation.ts';
import { STORED_ABOVE_BYTES, type ToolOutcome, type ToolRun } from '../manifests/tool/call.ts';
import { storedContent, type ToolContract, textContent } from '../manifests/tool/contract.ts';
import type { DenialReason } from '../manifests/tool/decision.ts';
import { type Blobs, PAYLOAD_LIMIT_BYTES } from '../runtime/blobs.ts';
import type { EffectContext, HandlerWait } from '../runtime/effect.ts';
import type { ErrorCode } from '../runtime/errors.ts';
import type { Json, JsonObject } from '../runtime/json.ts';

/** One call of a tool, as the handler gets it. */
export interface ToolCall {
  readonly run: ToolRun;
  readonly tenant: string;
  /** UUID of the call. A call repeated after a crash has the same id, so a run started under this id starts once. */
  readonly id: string;
  /** W3C trace id for everything that the call starts. */
  readonly trace: string;
  readonly signal: AbortSignal;
  /** Time-out in milliseconds. Absent: none. */
  readonly timeoutMs?: number;
  /** For a call repeated after a crash: milliseconds since it was first made. */
  readonly askedAgoMs?: number;
  /** Reports progress to the actor. */
  progress(value: Json): Promise<boolean>;
  /** Releases the effect's concurrency slot while `waiting` is pending. `waiting` must end with the signal. */
  parked<T>(waiting: Promise<T>): Promise<T>;
  /** Waits without keeping this run in memory: the tool runs again afterwards (`EffectContext.waitedFor`). */
  waitedFor(wait: HandlerWait): boolean;
  /** Set when the tool runs again after `waitedFor`. */
  readonly resumed?: EffectContext['resumed'];
}

/** The result of a tool: text (W30), and the object when the result is structured. */
export interface ToolAnswer {
  readonly text: string;
  readonly structured?: JsonObject;
}

/** A built-in tool: its contract and its handler. The handler reports failures as `ToolFailure`. */
export interface Tool {
  readonly contract: ToolContract;
  run(given: unknown, call: ToolCall): Promise<ToolAnswer>;
}

/** Joins a handler to its contract. Checks the arguments again, since a grant may be older than the contract. */
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

/** A result before its size is limited. */
export type WholeOutcome = Omit<ToolOutcome, 'stored' | 'duration_ms'>;

const MAX_ERROR_CHARS = 2_000;

/** The result of a failed tool. */
export function failedOutcome(failure: ToolFailure): WholeOutcome {
  const { code, class: failureClass, message, retryAfterMs, structured } = failure;
  const text = message.slice(0, MAX_ERROR_CHARS);
  return {
    // Callers recognise this code by the text alone (W31).
    content: textContent(code === 'cortex_not_configured' ? text : `${code}: ${text}`),
    ...(structured === undefined ? {} : { structured }),
    is_error: true,
    error: {
      code,
      class: failureClass,
      message: text,
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
    },
  };
}

/**
 * Limits the size of a result. A result over `maxBytes` becomes a failure of the tool. A large one is stored in Blobs,
 * and messages carry only its beginning.
 */
export async function boundedOutcome(
  whole: WholeOutcome,
  bounds: { readonly tenant: string; readonly owner: string; readonly blobs: Blobs; readonly maxBytes: number },
): Promise<Omit<ToolOutcome, 'duration_ms'>> {
  const { content, structured } = whole;
  const json = Buffer.from(JSON.stringify(structured === undefined ? { content } : { content, structured }));
  const maxBytes = Math.min(bounds.maxBytes, PAYLOAD_LIMIT_BYTES);
  if (answerBytes(whole) > maxBytes || json.length > PAYLOAD_LIMIT_BYTES) {
    const text = `the result is over the limit of ${maxBytes} bytes: request a smaller part`;
    return failedOutcome(new ToolFailure('OutputSizeLimitExceeded', text));
  }
  if (json.length <= STORED_ABOVE_BYTES) return whole;
  const ref = await bounds.blobs.put(bounds.tenant, json, bounds.owner);
  const { structured: _stored, ...rest } = whole;
  return { ...rest, content: headOf(whole), stored: { ref, bytes: json.length } };
}

/** Size of the content in bytes: texts as they are, other parts as JSON. */
function answerBytes({ content }: WholeOutcome): number {
  let bytes = 0;
  for (const part of content) {
    bytes += Buffer.byteLength(typeof part.text === 'string' ? part.text : JSON.stringify(part));
  }
  return bytes;
}

/** The beginning of the first text part. */
function headOf({ content }: WholeOutcome): WholeOutcome['content'] {
  const text = content.find((part) => typeof part.text === 'string')?.text;
  return storedContent(typeof text === 'string' ? text : '');
}

type FailureClass = NonNullable<ToolOutcome['error']>['class'];

/** Codes of tools (W31), of runtime/errors.ts, and of denials. */
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

/** Last sentence of messages of denied calls. */
export const REFUSED = ' This is not available to you: do not try it again.';

/**
 * A failure of a tool, which is a result for the caller and not a failed effect. The message says what went wrong and
 * what to do; class `policy` means that a retry is useless.
 */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';
  readonly code: FailureCode;
  readonly class: FailureClass;
  /** Set for a limit that resets. */
  retryAfterMs: number | undefined;
  /** Structured part of the result. */
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

import { hash } from 'node:crypto';
import { z } from 'zod';

/**
 * Trace context that the messages of a trace carry beside its id (W3C Trace Context). Absent: the trace is sampled and has no
 * state.
 */
export const TraceContext = z.object({
  sampled: z.literal(false).optional(),
  /** The caller's `tracestate`. */
  state: z.string().optional(),
});

export type TraceContext = z.output<typeof TraceContext>;

/** A span of another system that called this node. */
export interface CallingSpan {
  /** 32 hex digits. */
  readonly trace: string;
  /** 16 hex digits. */
  readonly span: string;
  readonly context: TraceContext | undefined;
}

/** Version 00 has exactly four fields; a later version may have more behind them. */
const TRACEPARENT =
  /^(?:00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})|(?!ff|00)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?)$/;

const ZERO_TRACE = '0'.repeat(32);

const ZERO_SPAN = '0'.repeat(16);

const SAMPLED = 0x01;

/** A header, or a key of gRPC metadata, or a member of `_meta`. */
type Given = string | readonly string[] | undefined;

/** The span that `traceparent` and `tracestate` name; null for an absent or invalid `traceparent`. */
export function callingSpan(traceparent: Given, tracestate?: Given): CallingSpan | null {
  const match = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent) : null;
  if (match === null) return null;
  const trace = match[1] ?? match[4] ?? ZERO_TRACE;
  const span = match[2] ?? match[5] ?? ZERO_SPAN;
  if (trace === ZERO_TRACE || span === ZERO_SPAN) return null;
  const sampled = (Number.parseInt(match[3] ?? match[6] ?? '0', 16) & SAMPLED) !== 0;
  const state = stateOf(tracestate);
  const context =
    sampled && state === undefined
      ? undefined
      : { ...(sampled ? {} : { sampled: false as const }), ...(state === undefined ? {} : { state }) };
  return { trace, span, context };
}

/** Longest `tracestate` that is passed on. It is stored with every message of its trace. */
const MOST_STATE_CHARS = 512;
const MOST_STATE_MEMBERS = 32;

const STATE_MEMBER =
  /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** A `tracestate` that is invalid or too long is dropped as a whole. */
function stateOf(given: Given): string | undefined {
  const text = typeof given === 'string' ? given : (given ?? []).join(',');
  const members = text
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
  const state = members.join(',');
  const fits = state.length <= MOST_STATE_CHARS && members.length <= MOST_STATE_MEMBERS;
  return members.length > 0 && fits && members.every((member) => STATE_MEMBER.test(member)) ? state : undefined;
}

/** `traceparent`, and `tracestate` when the trace has one, for a call to another system. */
export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate?: string;
}

export function traceHeaders(trace: string, span: string, { sampled, state }: TraceContext = {}): TraceHeaders {
  const traceparent = `00-${trace}-${span}-${sampled === false ? '00' : '01'}`;
  return state === undefined ? { traceparent } : { traceparent, tracestate: state };
}

/** The same as environment variables of a program. */
export function traceVariables(headers: TraceHeaders | null): Readonly<Record<string, string>> {
  if (headers === null) return {};
  const { traceparent, tracestate } = headers;
  return { TRACEPARENT: traceparent, ...(tracestate === undefined ? {} : { TRACESTATE: tracestate }) };
}

/**
 * Derives the id of a span from its message or effect. A span is exported after it has ended, on any node, but calls that it
 * makes name it as their parent before.
 */
const spanId = (...words: readonly (string | number)[]): string => {
  const id = hash('sha256', words.join('\n'), 'hex').slice(0, 16);
  return id === ZERO_SPAN ? '0000000000000001' : id;
};

/** The span of the turn that handled a message. An attempt that failed has its own. */
export const spanOfMessage = (message: string, failedAttempt?: number): string =>
  failedAttempt === undefined ? spanId('message', message) : spanId('message', message, failedAttempt);

/** The span of one attempt of an effect. */
export const spanOfAttempt = (effect: string, attempt: number): string => spanId('effect', effect, attempt);

/** The span of a call that another span made: its number counts from 1. */
export const spanOfCall = (parent: string, number: number): string => spanId('call', parent, number);

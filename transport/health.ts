import { systemRandom } from '../runtime/random.ts';
import { type CallingSpan, callingSpan } from '../runtime/tracing/trace-context.ts';

/**
 * The combined readiness of the node's parts. `why` is shown to any caller, so it contains no addresses and no secrets.
 */
export interface Readiness {
  readonly ready: boolean;
  readonly why?: string;
}

export interface Health {
  ready(): Promise<Readiness>;
}

/** The trace that a call belongs to. */
interface CallTrace {
  /** W3C trace id. */
  readonly trace: string;
  /** The caller's span; null when the call names none, and a trace begins here. */
  readonly caller: CallingSpan | null;
}

type Header = string | string[] | undefined;

/** The trace of a call. An invalid `traceparent` begins a new trace (W3C rule). */
export function traceOf(traceparent: Header, tracestate?: Header): CallTrace {
  const caller = callingSpan(traceparent, tracestate);
  return { trace: caller?.trace ?? systemRandom.hex(16), caller };
}

/** The `traceparent` of an answer: the same trace with a span of this node. */
export const traceparentOf = (trace: string): string => `00-${trace}-${systemRandom.hex(8)}-01`;

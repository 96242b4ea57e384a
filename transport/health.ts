import { type Random, systemRandom } from '../runtime/random.ts';

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

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/;

const ZERO_TRACE = '0'.repeat(32);

const ZERO_SPAN = '0'.repeat(16);

/** Trace id of a W3C `traceparent`, or a new one: an invalid header starts a new trace (W3C rule). */
export function traceOf(traceparent: string | string[] | undefined, random: Random = systemRandom): string {
  const match = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent) : null;
  const [trace, span] = [match?.[1], match?.[2]];
  if (trace === undefined || trace === ZERO_TRACE || span === ZERO_SPAN) return random.hex(16);
  return trace;
}

/** The `traceparent` of an answer: the same trace with a span of this node. */
export const traceparentOf = (trace: string, random: Random = systemRandom): string =>
  `00-${trace}-${random.hex(8)}-01`;

import { createHash } from 'node:crypto';
import type { Address } from '../address.ts';
import type { Message } from '../message.ts';

/**
 * Length of a trace, as one actor knows it (docs/decisions/0041). Absent in a record: the actor has had one delivery of its
 * last trace, or none.
 */
export interface TraceCount {
  /** The trace that the actor's messages, timers and effects continue. */
  readonly trace: string;
  /** Deliveries of the trace, as far as the actor knows. */
  readonly count: number;
  /** Those that `above` does not know: the actor's own, and those reported to it. */
  readonly unreported: number;
  /** The actor from which the trace came; null for a client. */
  readonly above: Address | null;
}

/** A trace with this many deliveries continues in a linked one. */
export const MOST_OF_TRACE = 10_000;

/** Below this count messages do not carry it: most runs are short, and the count would cost a byte in each message. */
const SHORT = 20;

/** Most linked traces through which a late message of an earlier one is followed. */
const MOST_STEPS = 3;

/** The trace in which another one continues. Every actor of the trace derives the same id. */
export const nextTrace = (trace: string): string =>
  createHash('sha256').update(`${trace} goes on`).digest('hex').slice(0, 32);

/** Counts a delivery. The result names the trace that its turn continues. */
export function counted(known: TraceCount | undefined, message: Message): TraceCount {
  const { trace, cause } = message;
  const from = message.from === message.to ? null : message.from;
  const now = known !== undefined && leadsTo(trace, known.trace) ? known : null;
  const [reported, unreported] = message.reported ?? [now === null && cause !== null ? 1 : 0, 0];
  // A late message of an earlier trace has the length of that trace. The deliveries that its sender reports and those that it
  // knows of may be the same ones, so the larger number is used.
  const count = Math.max((now?.count ?? 0) + unreported, now === null || now.trace === trace ? reported : 0) + 1;
  if (count >= MOST_OF_TRACE) {
    return { trace: nextTrace(now?.trace ?? trace), count: 0, unreported: 0, above: now?.above ?? from };
  }
  return {
    trace: now?.trace ?? trace,
    count,
    unreported: (now?.unreported ?? 0) + unreported + 1,
    above: now === null ? from : now.above,
  };
}

/** Whether `trace` is `later`, or continues in it after less than `steps` traces. */
export function leadsTo(trace: string, later: string, steps = MOST_STEPS): boolean {
  let one = trace;
  for (let step = 0; step < steps; step += 1) {
    if (one === later) return true;
    one = nextTrace(one);
  }
  return false;
}

/** Adds to the messages of a turn what the sender reports of the trace. Returns what the actor has still to report. */
export function report(
  known: TraceCount,
  sends: readonly Message[],
): { readonly sends: readonly Message[]; readonly known: TraceCount } {
  if (known.count === 1 || sends.length === 0) return { sends, known };
  let left = known.unreported;
  const reporting = sends.map((send): Message => {
    const isAbove = send.to === known.above;
    if (known.count < SHORT && !isAbove) return send;
    const reported = [known.count, isAbove ? left : 0] as const;
    if (isAbove) left = 0;
    return { ...send, reported };
  });
  return { sends: reporting, known: left === known.unreported ? known : { ...known, unreported: left } };
}

/** The stored count: none while the actor has had one delivery of the trace, as most actors of single calls. */
export const keptCount = (known: TraceCount): TraceCount | undefined => (known.count === 1 ? undefined : known);

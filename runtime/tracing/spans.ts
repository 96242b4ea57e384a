import type { Message } from '../message.ts';
import type { TurnRow } from '../turns/actor-draft.ts';

/** A turn that was committed. */
export interface DeliveredTurn {
  readonly message: Message;
  /** When the message was appended, Unix ms on the store's clock. */
  readonly at: number;
  readonly row: Pick<TurnRow, 'outcome' | 'waitMs' | 'turnUs' | 'attempt' | 'error'>;
  readonly epoch: number;
}

export type SpanAttributes = Record<string, string | number | boolean | string[] | undefined>;

/** Work that has ended. */
export interface EndedSpan {
  readonly trace: string;
  readonly id: string;
  readonly parent: string | undefined;
  /** A span that it follows without being its child. */
  readonly link?: { readonly trace: string; readonly span: string };
  /** The caller's `tracestate`. */
  readonly state: string | undefined;
  readonly tenant: string;
  readonly name: string;
  /** `client`: a call of another system. */
  readonly kind: 'internal' | 'client';
  /** Unix ms. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: SpanAttributes;
  /** Code of the error that it ended with. Error messages may name what callers sent, so they are not part of it. */
  readonly error: string | undefined;
}

/**
 * Takes deliveries, effects and calls that have ended, for export. It is called where every message passes, so an
 * implementation must be cheap, must not wait and must not throw. A trace that is not sampled never reaches it.
 * Implemented by `SpanExport` (effects/otlp/span-export.ts).
 */
export interface SpanSink {
  delivered(turn: DeliveredTurn): void;
  ended(span: EndedSpan): void;
}

/** The kernel's export and sampling of spans. */
export interface Tracing {
  /** Null: spans are not exported. */
  readonly sink: SpanSink | null;
  /** Whether a trace that begins here is sampled. */
  readonly samples: (trace: string) => boolean;
}

export const noTracing: Tracing = { sink: null, samples: () => true };

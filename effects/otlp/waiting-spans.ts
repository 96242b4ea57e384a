import type { Address } from '../../runtime/address.ts';
import { isJsonObject } from '../../runtime/json.ts';
import type { MessageOrigin } from '../../runtime/message.ts';
import type { DeliveredTurn, EndedSpan } from '../../runtime/tracing/spans.ts';
import { RETRY_TIMER } from '../../runtime/turns/actor-draft.ts';

/** A delivery that waits for its export: the data of its span, without the payload. */
export interface WaitingDelivery {
  /** Id of the message. */
  readonly message: string;
  readonly trace: string;
  readonly cause: string | null;
  /** The trace of the cause, when that is another one. */
  readonly causeTrace: string | undefined;
  readonly parentSpan: string | undefined;
  readonly state: string | undefined;
  readonly to: Address;
  readonly type: string;
  readonly origin: MessageOrigin;
  /** Delivers a failing message again, after a short time. */
  readonly isRetry: boolean;
  /** For a result: the attempt that it comes from. */
  readonly effect: { readonly id: string; readonly attempt: number } | undefined;
  readonly outcome: 'done' | 'refused' | 'retried' | 'dead-lettered';
  readonly attempt: number;
  readonly waitMs: number;
  readonly epoch: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

export type WaitingSpan = WaitingDelivery | EndedSpan;

/** Null for a delivery without a turn: it waits behind a failing message, or its timer was set again. */
export function waitingDelivery({ message, at, row, epoch }: DeliveredTurn): WaitingDelivery | null {
  const { outcome, waitMs, turnUs, attempt = 1 } = row;
  if (outcome === 'postponed' || outcome === 'deferred' || outcome === 'stale') return null;
  const startedAt = at + waitMs;
  return {
    message: message.id,
    trace: message.trace,
    cause: message.cause,
    causeTrace: message.causeTrace,
    parentSpan: message.parentSpan,
    state: message.traceContext?.state,
    to: message.to,
    type: message.type,
    origin: message.origin,
    isRetry: message.timer === RETRY_TIMER,
    effect: message.origin === 'effect' ? effectOf(message.payload) : undefined,
    outcome,
    attempt,
    waitMs,
    epoch,
    startedAt,
    endedAt: startedAt + turnUs / 1_000,
  };
}

function effectOf(payload: DeliveredTurn['message']['payload']): WaitingDelivery['effect'] {
  if (!isJsonObject(payload)) return undefined;
  const { effectId: id, attempt } = payload;
  return typeof id === 'string' && typeof attempt === 'number' ? { id, attempt } : undefined;
}

/** Spans that wait for their export, oldest first, up to a number. Further ones are dropped and counted. */
export class WaitingSpans {
  readonly #most: number;
  #spans: WaitingSpan[] = [];
  #taken = 0;
  dropped = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#spans.length - this.#taken;
  }

  /** Whether there is space; counts a dropped span if not. */
  hasRoom(): boolean {
    if (this.size < this.#most) return true;
    this.dropped += 1;
    return false;
  }

  add(span: WaitingSpan): void {
    this.#spans.push(span);
  }

  take(most: number): WaitingSpan[] {
    const taken = this.#spans.slice(this.#taken, this.#taken + most);
    this.#taken += taken.length;
    // Moves the rest only from time to time.
    if (this.#taken * 2 >= this.#spans.length) {
      this.#spans = this.#spans.slice(this.#taken);
      this.#taken = 0;
    }
    return taken;
  }
}

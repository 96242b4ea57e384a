import type { Clock } from '../../runtime/clock.ts';
import { toSvcError } from '../../runtime/errors.ts';
import { within } from '../../runtime/kit/waits.ts';
import type { DeliveredTurn, EndedSpan, SpanSink } from '../../runtime/tracing/spans.ts';
import { type WaitingSpan, WaitingSpans, waitingDelivery } from './waiting-spans.ts';

/** Sends spans. Implemented by readable-spans.ts with the SDK. */
export interface SpanExporter {
  /** Resolves with the error when the spans were not taken; never rejects. */
  export(spans: readonly WaitingSpan[]): Promise<Error | null>;
  shutdown(): Promise<void>;
}

interface SpanExportParts {
  /** Opens the exporter with the first span, so that its packages load only then. */
  readonly open: () => Promise<SpanExporter>;
  /** Most spans that wait (`spec.observability.tracing.max_queued_spans`). */
  readonly mostWaiting: number;
  readonly clock: Clock;
  readonly log: {
    warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  };
}

/** Spans by outcome. `failed`: the receiver did not take them. */
interface SpanCounts {
  readonly exported: number;
  readonly dropped: number;
  readonly failed: number;
}

const BATCH = 256;
/** Pause before a batch that is not full. */
const EVERY_MS = 1_000;
/**
 * Pause after a batch, as a multiple of the time for which it kept the thread: exports take at most a twentieth of the thread's
 * time, and further spans are dropped.
 */
const IDLE_SHARE = 19;
const LOG_EVERY_MS = 60_000;
/** Longest time that a stopping node waits for the receiver. */
const STOPPED_WITHIN_MS = 2_000;

/**
 * Exports spans in the background, batch after batch. Ended spans wait in a queue of limited length; when the receiver is
 * unavailable or slower than the node, further spans are dropped and counted.
 */
export class SpanExport implements SpanSink {
  readonly #parts: SpanExportParts;
  readonly #waiting: WaitingSpans;
  #exporter: Promise<SpanExporter> | null = null;
  #running: Promise<void> | null = null;
  #cancelTimer: () => void = () => {};
  #isArmed = false;
  #closed = false;
  #exported = 0;
  #failed = 0;
  #lost = 0;
  #loggedAt: number;
  /** Why the receiver did not take the last batch. */
  #lastError: string | undefined;

  constructor(parts: SpanExportParts) {
    this.#parts = parts;
    this.#waiting = new WaitingSpans(parts.mostWaiting);
    this.#loggedAt = parts.clock.monotonic() - LOG_EVERY_MS;
  }

  get counts(): SpanCounts {
    return { exported: this.#exported, dropped: this.#waiting.dropped, failed: this.#failed };
  }

  delivered(turn: DeliveredTurn): void {
    if (this.#closed || !this.#waiting.hasRoom()) return;
    const span = waitingDelivery(turn);
    if (span !== null) this.#add(span);
  }

  ended(span: EndedSpan): void {
    if (!this.#closed && this.#waiting.hasRoom()) this.#add(span);
  }

  #add(span: WaitingSpan): void {
    this.#waiting.add(span);
    if (!this.#isArmed) this.#arm(EVERY_MS);
  }

  #arm(delayMs: number): void {
    this.#isArmed = true;
    this.#cancelTimer = this.#parts.clock.after(delayMs, () => {
      this.#running = this.#next().finally(() => {
        this.#running = null;
      });
    });
  }

  async #next(): Promise<void> {
    const keptMs = await this.#exportBatch();
    this.#log();
    if (this.#closed || this.#waiting.size === 0) this.#isArmed = false;
    else this.#arm(this.#waiting.size < BATCH ? EVERY_MS : Math.min(EVERY_MS, keptMs * IDLE_SHARE));
  }

  /** Exports one batch and returns for how long it kept the thread, ms. */
  async #exportBatch(): Promise<number> {
    const { clock } = this.#parts;
    const spans = this.#waiting.take(BATCH);
    let keptMs = 0;
    let error: Error | null;
    try {
      this.#exporter ??= this.#parts.open();
      const exporter = await this.#exporter;
      const begunAt = clock.monotonic();
      const sent = exporter.export(spans);
      keptMs = clock.monotonic() - begunAt;
      error = await sent;
    } catch (thrown) {
      this.#exporter = null;
      error = toSvcError(thrown);
    }
    if (error === null) this.#exported += spans.length;
    else {
      this.#failed += spans.length;
      this.#lastError = error.message;
    }
    return keptMs;
  }

  /** Logs lost spans, at most once a minute. */
  #log(): void {
    const { clock, log } = this.#parts;
    const { dropped, failed } = this.counts;
    const lost = dropped + failed;
    if (lost === this.#lost || clock.monotonic() - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = clock.monotonic();
    const spans = lost - this.#lost;
    this.#lost = lost;
    const reason = this.#lastError?.slice(0, 200) ?? 'more spans end than are exported: set a smaller sample_ratio';
    this.#lastError = undefined;
    log.warn({ spans, reason }, 'spans were lost');
  }

  /** Exports the waiting spans, for a limited time. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTimer();
    await within(this.#parts.clock, STOPPED_WITHIN_MS, this.#finish());
  }

  async #finish(): Promise<void> {
    await this.#running;
    while (this.#waiting.size > 0) {
      const { failed } = this.counts;
      await this.#exportBatch();
      if (this.counts.failed > failed) break;
    }
    if (this.#exporter !== null) await (await this.#exporter).shutdown();
  }
}

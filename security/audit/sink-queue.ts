import type { EntryRecord } from '../../manifests/audit/entries.ts';
import type { Clock } from '../../runtime/clock.ts';
import { counted } from '../../runtime/kit/counted.ts';
import { sleep, within } from '../../runtime/kit/waits.ts';

/** One record for a sink: a line of JSON without a line feed, and the fields that a sink may need. */
export interface SinkLine {
  readonly text: string;
  /** ISO time. */
  readonly at: string;
  readonly isDenial: boolean;
}

/**
 * Gets every record of the chains that this node writes, besides the store. Implemented by `FileSink`, `SyslogSink` and
 * `HttpSink`.
 */
export interface AuditSink {
  /** Resolves when the sink has the lines. Throws when it may not have all of them; they are written again. */
  write(lines: readonly SinkLine[]): Promise<void>;
  close(): Promise<void>;
}

const BATCH_LINES = 500;

const MOST_LINES = 20_000;

const MOST_CHARS = 8 * 1024 * 1024;

const RETRY_MS = 200;

const MOST_RETRY_MS = 30_000;

interface SinkQueueParts {
  readonly node: string;
  readonly sink: AuditSink;
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * Holds records until a sink has them: at most 8 Mi characters while it is down. Further records are counted, and the sink
 * receives their number; the store has them all.
 */
export class SinkQueue {
  readonly #parts: SinkQueueParts;
  readonly #waiting: SinkLine[] = [];
  #chars = 0;
  #dropped = 0;
  #writing: Promise<void> | null = null;
  #isClosed = false;

  constructor(parts: SinkQueueParts) {
    this.#parts = parts;
  }

  /** Whether there is room. */
  readonly takes = (): boolean => this.#waiting.length < MOST_LINES && this.#chars < MOST_CHARS;

  readonly add = (tenant: string, records: readonly EntryRecord[]): void => {
    for (const record of records) {
      if (!this.takes()) this.#dropped += 1;
      else this.#push(lineOf(this.#parts.node, tenant, record));
    }
    this.#start();
  };

  /** Waits for the sink for at most `waitMs`. */
  async close(waitMs: number): Promise<void> {
    await within(this.#parts.clock, waitMs, this.#writing ?? Promise.resolve());
    this.#isClosed = true;
    await this.#parts.sink.close();
  }

  #push(line: SinkLine): void {
    this.#waiting.push(line);
    this.#chars += line.text.length;
  }

  #start(): void {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
      if (this.#waiting.length > 0 && !this.#isClosed) this.#start();
    });
  }

  async #write(): Promise<void> {
    const { sink, clock, warn } = this.#parts;
    let waitMs = RETRY_MS;
    while (this.#waiting.length > 0 && !this.#isClosed) {
      const batch = this.#waiting.slice(0, BATCH_LINES);
      try {
        await sink.write(batch);
        this.#forget(batch);
        waitMs = RETRY_MS;
      } catch (thrown) {
        if (waitMs === RETRY_MS) warn('the audit sink does not accept entries; they wait', thrown);
        await sleep(clock, waitMs);
        waitMs = Math.min(waitMs * 2, MOST_RETRY_MS);
      }
    }
  }

  #forget(batch: readonly SinkLine[]): void {
    this.#waiting.splice(0, batch.length);
    for (const { text } of batch) this.#chars -= text.length;
    if (this.#dropped === 0) return;
    const { node, clock, warn } = this.#parts;
    const at = new Date(clock.now()).toISOString();
    const lost = { node, at, body: { kind: 'lost', count: this.#dropped } };
    warn(
      `${counted(this.#dropped, 'entry', 'entries')} did not reach the audit sink; nothing is missing in the store`,
      null,
    );
    this.#dropped = 0;
    this.#push({ text: JSON.stringify(lost), at, isDenial: false });
  }
}

function lineOf(node: string, tenant: string, record: EntryRecord): SinkLine {
  const { body, at } = record;
  const isDenial = body.kind === 'operation' && body.outcome === 'denied';
  return { text: JSON.stringify({ node, tenant, ...record }), at, isDenial };
}

import type { DatabaseSync } from 'node:sqlite';
import { toSvcError } from '../errors.ts';
import { DocumentsThread } from './documents-thread.ts';
import type { ThreadData } from './documents-thread-messages.ts';
import { type DocumentOutcome, type DocumentWrite, DocumentWrites } from './documents-write.ts';

export interface DocumentsWriterOptions extends ThreadData {
  /** So many documents within a second start the thread; 0: it is there from the beginning. */
  readonly threadFromRows: number;
  /** How long it stays when next to nothing is written. */
  readonly quietMs: number;
  readonly warn: (message: string, error: unknown) => void;
  /** Default: a thread of this process. */
  readonly startThread?: (data: ThreadData) => Promise<WritingThread>;
}

type WritingThread = Pick<DocumentsThread, 'apply' | 'close'>;

const WINDOW_MS = 1_000;
/** Documents of a quiet time. */
const QUIET_ROWS = 100;

/**
 * Writes documents on this thread while they are few, and on a thread of their own while they are many: it takes fsyncs
 * and indexes off the thread of turns, but costs some 20 MB. Never do both write: the first group goes
 * to the thread when it is there, and the first comes back when the thread has answered all.
 */
export class DocumentsWriter {
  readonly #here: DocumentWrites;
  readonly #options: DocumentsWriterOptions;
  #thread: WritingThread | null = null;
  #starting: Promise<void> | null = null;
  #inThread = 0;
  #window = { at: 0, rows: 0 };
  /** One that cannot be had is not asked for with each write. */
  #notBefore = 0;
  #rowsSinceLook = 0;
  #look: NodeJS.Timeout | undefined;

  constructor(database: DatabaseSync, options: DocumentsWriterOptions) {
    this.#here = new DocumentWrites(database);
    this.#options = options;
  }

  async open(): Promise<void> {
    if (this.#options.threadFromRows === 0) await this.#start();
  }

  /** Whether a thread writes now. */
  get hasThread(): boolean {
    return this.#thread !== null;
  }

  /** Writes a group in one transaction; a promise when another thread does. */
  apply(
    writes: readonly DocumentWrite[],
    rows: number,
  ): readonly DocumentOutcome[] | Promise<readonly DocumentOutcome[]> {
    this.#measure(rows);
    if (this.#thread === null) return this.#here.apply(writes);
    return this.#inThe(this.#thread, writes);
  }

  /** Behind all that was given to it. */
  async close(): Promise<void> {
    await this.#starting;
    clearInterval(this.#look);
    await this.#thread?.close();
    this.#thread = null;
  }

  async #inThe(thread: WritingThread, writes: readonly DocumentWrite[]): Promise<readonly DocumentOutcome[]> {
    this.#inThread += 1;
    try {
      return await thread.apply(writes);
    } catch (thrown) {
      const error = toSvcError(thrown);
      if (this.#thread === thread) {
        this.#options.warn('documents are written by the thread of turns again', error);
        this.#notBefore = performance.now() + this.#options.quietMs;
        this.#leave();
      }
      return writes.map(() => error);
    } finally {
      this.#inThread -= 1;
    }
  }

  #measure(rows: number): void {
    this.#rowsSinceLook += rows;
    if (this.#thread !== null || this.#starting !== null) return;
    const now = performance.now();
    if (now - this.#window.at >= WINDOW_MS) this.#window = { at: now, rows: 0 };
    this.#window.rows += rows;
    if (this.#window.rows < this.#options.threadFromRows || now < this.#notBefore) return;
    this.#start().catch((thrown: unknown) => {
      this.#notBefore = now + this.#options.quietMs;
      this.#options.warn('the thread that writes documents did not start', toSvcError(thrown));
    });
  }

  #start(): Promise<void> {
    const { path, busyTimeoutMs, startThread = DocumentsThread.start } = this.#options;
    const started = startThread({ path, busyTimeoutMs }).then((thread) => {
      this.#thread = thread;
      this.#rowsSinceLook = 0;
      this.#look = setInterval(() => this.#endWhenQuiet(thread), this.#options.quietMs).unref();
    });
    this.#starting = started
      .catch(() => {})
      .then(() => {
        this.#starting = null;
      });
    return started;
  }

  #endWhenQuiet(thread: WritingThread): void {
    const isQuiet = this.#rowsSinceLook < QUIET_ROWS && this.#inThread === 0;
    this.#rowsSinceLook = 0;
    if (!isQuiet || this.#thread !== thread) return;
    this.#leave();
    thread.close().catch((thrown: unknown) => this.#options.warn('the thread did not end', toSvcError(thrown)));
  }

  #leave(): void {
    clearInterval(this.#look);
    this.#thread = null;
  }
}

import { extname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { SvcError, toSvcError } from '../errors.ts';
import { received, type ThreadAnswer, type ThreadData, type ThreadRequest } from './documents-thread-messages.ts';
import { type DocumentOutcome, type DocumentWrite, DocumentWrites } from './documents-write.ts';

interface Sent {
  readonly resolve: (outcomes: readonly DocumentOutcome[]) => void;
  readonly reject: (error: SvcError) => void;
}

/**
 * The thread that writes documents, as the main thread uses it: no fsync and no index update delays turns. It keeps the
 * process alive only while it has work.
 */
export class DocumentsThread {
  readonly #worker: Worker;
  /** Groups without an answer, oldest first. */
  readonly #sent: Sent[] = [];
  readonly #gone = Promise.withResolvers<void>();
  #isOver = false;

  /** Starts the thread. Resolves when it has the file open. Throws `unavailable`. */
  static start(data: ThreadData): Promise<DocumentsThread> {
    const opened = Promise.withResolvers<readonly DocumentOutcome[]>();
    const thread = new DocumentsThread(data, opened);
    return opened.promise.then(() => thread);
  }

  private constructor(data: ThreadData, opened: Sent) {
    this.#sent.push(opened);
    // The file has the same extension as this one, so it works from sources and from the package. It gets no
    // environment variables.
    const file = new URL(`./documents-worker${extname(import.meta.filename)}`, import.meta.url);
    this.#worker = new Worker(file, { workerData: data, env: {}, execArgv: [], stdin: false });
    this.#worker.on('message', (answer: ThreadAnswer) => {
      this.#sent.shift()?.resolve(answer === 'open' ? [] : answer.map(received));
      if (this.#sent.length === 0) this.#worker.unref();
    });
    this.#worker.on('error', (cause) => this.#end(cause));
    this.#worker.on('exit', () => {
      this.#end();
      this.#gone.resolve();
    });
  }

  /**
   * Writes a group in one transaction. Throws `unavailable` when the thread ends first: the writes may have happened.
   */
  apply(writes: readonly DocumentWrite[]): Promise<readonly DocumentOutcome[]> {
    if (this.#isOver) return Promise.reject(ended());
    this.#worker.ref();
    return new Promise((resolve, reject) => {
      this.#sent.push({ resolve, reject });
      this.#send(writes);
    });
  }

  /** Closes the thread after everything that was sent. Resolves when it has ended. */
  async close(): Promise<void> {
    if (!this.#isOver) {
      this.#worker.ref();
      this.#send('close');
    }
    await this.#gone.promise;
  }

  #send(request: ThreadRequest): void {
    this.#worker.postMessage(request);
  }

  #end(cause?: unknown): void {
    this.#isOver = true;
    for (const { reject } of this.#sent.splice(0)) reject(ended(cause));
  }
}

const ended = (cause?: unknown): SvcError =>
  new SvcError('unavailable', 'the thread that writes documents has ended', { store: 'documents', cause });

interface DocumentsWriterOptions extends ThreadData {
  /** Number of documents within a second that starts the thread. 0: it runs from the beginning. */
  readonly threadFromRows: number;
  /** How long the thread stays while almost nothing is written, milliseconds. */
  readonly quietMs: number;
  readonly warn: (message: string, error: unknown) => void;
  /** Default: a thread of this process. */
  readonly startThread?: (data: ThreadData) => Promise<WritingThread>;
}

type WritingThread = Pick<DocumentsThread, 'apply' | 'close'>;

const WINDOW_MS = 1_000;

/** Most documents within a quiet time. */
const QUIET_ROWS = 100;

/**
 * Writes documents on this thread while they are few, and on a thread of their own while they are many: that takes
 * fsyncs and indexes off the main thread but costs some 20 MB. The two never write at the same time: the first group
 * goes to the thread when it is ready, and the first one comes back when the thread has answered all groups.
 */
export class DocumentsWriter {
  readonly #here: DocumentWrites;
  readonly #options: DocumentsWriterOptions;
  #thread: WritingThread | null = null;
  #starting: Promise<void> | null = null;
  #inThread = 0;
  #window = { at: 0, rows: 0 };
  /** Time before which no new thread is tried, so that a failing start is not repeated at each write. */
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

  /** Writes a group in one transaction. Returns a promise when another thread writes. */
  apply(
    writes: readonly DocumentWrite[],
    rows: number,
  ): readonly DocumentOutcome[] | Promise<readonly DocumentOutcome[]> {
    this.#measure(rows);
    if (this.#thread === null) return this.#here.apply(writes);
    return this.#inThe(this.#thread, writes);
  }

  /** Closes the writer after everything that was given to it. */
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
        this.#options.warn('the thread that writes documents failed; the main thread writes them', error);
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
      this.#options.warn(
        'the thread that writes documents did not start; the main thread writes them',
        toSvcError(thrown),
      );
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
    thread
      .close()
      .catch((thrown: unknown) =>
        this.#options.warn('the idle thread that writes documents did not end', toSvcError(thrown)),
      );
  }

  #leave(): void {
    clearInterval(this.#look);
    this.#thread = null;
  }
}

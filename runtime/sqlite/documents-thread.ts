import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { SvcError } from '../errors.ts';
import { received, type ThreadAnswer, type ThreadData, type ThreadRequest } from './documents-thread-messages.ts';
import type { DocumentOutcome, DocumentWrite } from './documents-write.ts';

interface Sent {
  readonly resolve: (outcomes: readonly DocumentOutcome[]) => void;
  readonly reject: (error: SvcError) => void;
}

/**
 * The thread that writes documents, seen from the thread of turns: no fsync and no index update holds turns up. It keeps
 * the process alive only while it has something to do.
 */
export class DocumentsThread {
  readonly #worker: Worker;
  /** Groups that are not answered, oldest first. */
  readonly #sent: Sent[] = [];
  readonly #gone = Promise.withResolvers<void>();
  #isOver = false;

  /** Resolves when the thread has the file open. Throws `unavailable`. */
  static start(data: ThreadData): Promise<DocumentsThread> {
    const opened = Promise.withResolvers<readonly DocumentOutcome[]>();
    const thread = new DocumentsThread(data, opened);
    return opened.promise.then(() => thread);
  }

  private constructor(data: ThreadData, opened: Sent) {
    this.#sent.push(opened);
    // As this file is named: from sources as from the package. It sees nothing of the node's environment.
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

  /** Writes them in one transaction. Throws `unavailable` when the thread ends first: they may have been written. */
  apply(writes: readonly DocumentWrite[]): Promise<readonly DocumentOutcome[]> {
    if (this.#isOver) return Promise.reject(ended());
    this.#worker.ref();
    return new Promise((resolve, reject) => {
      this.#sent.push({ resolve, reject });
      this.#send(writes);
    });
  }

  /** Behind all that was sent. Resolves when the thread has ended. */
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

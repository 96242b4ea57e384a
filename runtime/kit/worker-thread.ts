import { extname } from 'node:path';
import { type Transferable, Worker } from 'node:worker_threads';
import { SvcError } from '../errors.ts';

interface WorkerThreadOptions {
  /** `import.meta` of the module that starts the thread. */
  readonly from: { readonly url: string; readonly filename: string };
  /** Name of the thread's module beside it, without its extension. */
  readonly module: string;
  /** Most questions that wait; further ones are refused. */
  readonly mostWaiting: number;
  readonly maxHeapMb: number;
  /** Public text of the error when the thread dies. */
  readonly lost: string;
}

interface Asked<Answer> {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: SvcError) => void;
}

/**
 * A thread for work that would block every other call. Its module answers each message with one message, in order. It
 * starts with the first question and keeps the process alive only while it works.
 */
export class WorkerThread<Question, Answer> {
  readonly #options: WorkerThreadOptions;
  #worker: Worker | null = null;
  /** Open questions, oldest first. */
  #asked: Asked<Answer>[] = [];

  constructor(options: WorkerThreadOptions) {
    this.#options = options;
  }

  /** Throws `overloaded`; rejects with `unavailable` when the thread dies. */
  ask(question: Question, transferred: readonly Transferable[] = []): Promise<Answer> {
    if (this.#asked.length >= this.#options.mostWaiting)
      throw new SvcError('overloaded', undefined, { retryAfterMs: 1_000 });
    this.#worker ??= this.#start();
    this.#worker.ref();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    // A question that cannot be posted gets no answer: it must not wait for one, since answers go to the questions in order.
    this.#worker.postMessage(question, transferred);
    this.#asked.push({ resolve, reject });
    return promise;
  }

  /** Ends the thread. The next question starts another one. */
  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const { from, module, maxHeapMb, lost } = this.#options;
    // The module has the extension of the file that starts it, so that it is found in the sources and in the package. It
    // gets none of the node's environment variables.
    const worker = new Worker(new URL(`./${module}${extname(from.filename)}`, from.url), {
      env: {},
      execArgv: [],
      stdin: false,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    });
    worker.on('message', (answer: Answer) => {
      this.#asked.shift()?.resolve(answer);
      if (this.#asked.length === 0) worker.unref();
    });
    const gone = (cause?: unknown): void => {
      if (this.#worker !== worker) return;
      this.#worker = null;
      const asked = this.#asked;
      this.#asked = [];
      for (const { reject } of asked) reject(new SvcError('unavailable', lost, { cause }));
    };
    worker.on('error', gone);
    worker.on('exit', () => gone());
    return worker;
  }
}

import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { isErrorCode, SvcError } from '../../../runtime/errors.ts';
import { SearchAnswer, type SearchJob } from './job.ts';

/** A slow search keeps its place until its time is over: others go on beside it. */
const AT_ONCE = Math.max(2, Math.min(8, availableParallelism()));
const WAITING = 100;
/** After its own end of time a thread that still computes (a glob may be slow at one name) is ended. */
const GRACE_MS = 1_000;
const MAX_HEAP_MB = 256;

type Found = Extract<SearchAnswer, { ok: true }>['found'];

/** Threads that search, started when first needed. One that is ended takes its open files with it. */
export class SearchThreads {
  readonly #idle: Worker[] = [];
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #closed = false;

  /** Throws `deadline_exceeded`, `unavailable` when too many wait, the signal's reason. */
  async run(job: SearchJob, signal?: AbortSignal): Promise<Found> {
    await this.#place(signal);
    try {
      signal?.throwIfAborted();
      return await this.#search(job, signal);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#idle.splice(0).map((worker) => worker.terminate()));
  }

  async #place(signal: AbortSignal | undefined): Promise<void> {
    if (this.#running >= AT_ONCE) {
      if (this.#waiting.length >= WAITING) throw new SvcError('unavailable', 'too many searches of files wait already');
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const abort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(resolve), 1);
        reject(signal?.reason);
      };
      this.#waiting.push(resolve);
      signal?.addEventListener('abort', abort, { once: true });
      await promise.finally(() => signal?.removeEventListener('abort', abort));
    }
    this.#running += 1;
  }

  #search(job: SearchJob, signal: AbortSignal | undefined): Promise<Found> {
    const worker = this.#idle.pop() ?? start();
    worker.removeAllListeners();
    const { promise, resolve, reject } = Promise.withResolvers<Found>();
    const settle = (end: () => void, reuse: boolean): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      worker.removeAllListeners();
      if (reuse && !this.#closed) {
        this.#rest(worker);
        end();
        return;
      }
      // Whatever ends it now was told already. Its open files are closed before the caller goes on.
      worker.on('error', () => {});
      worker.terminate().then(end, end);
    };
    const fail = (error: unknown) => settle(() => reject(error), false);
    const abort = (): void => fail(signal?.reason);
    const timer = setTimeout(() => fail(tooSlow()), job.bounds.time_ms + GRACE_MS);
    signal?.addEventListener('abort', abort, { once: true });
    worker.once('message', (message: unknown) => {
      const answer = SearchAnswer.safeParse(message);
      if (!answer.success) fail(new SvcError('internal', undefined, { cause: answer.error }));
      else if (answer.data.ok) {
        const { found } = answer.data;
        settle(() => resolve(found), true);
      } else {
        const { code, message: text } = answer.data;
        settle(() => reject(new SvcError(isErrorCode(code) ? code : 'internal', text)), true);
      }
    });
    worker.once('error', (cause) => fail(new SvcError('unavailable', 'the search of files broke off', { cause })));
    worker.once('exit', () => fail(new SvcError('unavailable', 'the search of files broke off')));
    worker.ref();
    worker.postMessage(job);
    return promise;
  }

  /** Waits for the next search; keeps no process alive. */
  #rest(worker: Worker): void {
    const gone = (): void => {
      const at = this.#idle.indexOf(worker);
      if (at !== -1) this.#idle.splice(at, 1);
    };
    worker.unref();
    worker.on('error', gone);
    worker.on('exit', gone);
    this.#idle.push(worker);
  }
}

const tooSlow = (): SvcError => new SvcError('deadline_exceeded', 'the search of files took too long');

/** As this file is named: from sources as from the package. It sees nothing of the node's environment. */
function start(): Worker {
  const file = new URL(`./thread${extname(import.meta.filename)}`, import.meta.url);
  return new Worker(file, {
    ...{ env: {}, execArgv: [], stdin: false, trackUnmanagedFds: true },
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
}

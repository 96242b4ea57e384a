import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { isErrorCode, SvcError } from '../../../runtime/errors.ts';
import { KeyedSemaphore } from '../../semaphore.ts';
import { SearchAnswer, type SearchJob } from './job.ts';

/** More than one, so that a slow search does not block the others. */
const MAX_THREADS = Math.max(2, Math.min(8, availableParallelism()));
/** Searches that may wait for a thread. */
const MAX_WAITING = 100;
/** Time after its own time-out at which a thread is terminated: a glob may be slow at one name. */
const GRACE_MS = 1_000;
const MAX_HEAP_MB = 256;

type Found = Extract<SearchAnswer, { ok: true }>['found'];

/** Search threads, started on demand. Terminating a thread closes its files. */
export class SearchThreads {
  readonly #idle: Worker[] = [];
  readonly #slots = new KeyedSemaphore();
  #closed = false;

  /** Throws `deadline_exceeded`, `unavailable` if too many searches wait, the signal's reason. */
  async run(job: SearchJob, signal: AbortSignal = new AbortController().signal): Promise<Found> {
    if (this.#slots.waiting('') >= MAX_WAITING)
      throw new SvcError('unavailable', 'too many searches of files are waiting');
    const release = await this.#slots.acquire('', MAX_THREADS, signal);
    try {
      return await this.#search(job, signal);
    } finally {
      release();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#idle.splice(0).map((worker) => worker.terminate()));
  }

  #search(job: SearchJob, signal: AbortSignal): Promise<Found> {
    const worker = this.#idle.pop() ?? start();
    worker.removeAllListeners();
    const { promise, resolve, reject } = Promise.withResolvers<Found>();
    const settle = (end: () => void, reuse: boolean): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      worker.removeAllListeners();
      if (reuse && !this.#closed) {
        this.#keep(worker);
        end();
        return;
      }
      // The result is already settled. The files of the thread are closed before the caller continues.
      worker.on('error', () => {});
      worker.terminate().then(end, end);
    };
    const fail = (error: unknown) => settle(() => reject(error), false);
    const abort = (): void => fail(signal.reason);
    const timer = setTimeout(() => fail(tooSlow()), job.bounds.time_ms + GRACE_MS);
    signal.addEventListener('abort', abort, { once: true });
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
    worker.once('error', (cause) =>
      fail(new SvcError('unavailable', 'the search of files ended unexpectedly', { cause })),
    );
    worker.once('exit', () => fail(new SvcError('unavailable', 'the search of files ended unexpectedly')));
    worker.ref();
    worker.postMessage(job);
    return promise;
  }

  /** Keeps an idle thread for the next search, without keeping the process alive. */
  #keep(worker: Worker): void {
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

/** The extension is that of this file, in the sources and in the package. The thread has no environment. */
function start(): Worker {
  const file = new URL(`./thread${extname(import.meta.filename)}`, import.meta.url);
  return new Worker(file, {
    env: {},
    execArgv: [],
    stdin: false,
    trackUnmanagedFds: true,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
}

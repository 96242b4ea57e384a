/** Entry point of a search thread. It reads files synchronously, so it must not run on the main thread. */
import { parentPort } from 'node:worker_threads';
import { fileFailure } from '../file-failure.ts';
import { glob } from './glob.ts';
import { grep } from './grep.ts';
import { type SearchAnswer, SearchJob } from './job.ts';

parentPort?.on('message', (message: unknown) => {
  parentPort?.postMessage(answer(message));
});

function answer(message: unknown): SearchAnswer {
  try {
    const job = SearchJob.parse(message);
    return { ok: true, found: job.kind === 'glob' ? glob(job) : grep(job) };
  } catch (thrown) {
    const { code, message: text } = fileFailure(thrown, 'path');
    return { ok: false, code, message: text };
  }
}

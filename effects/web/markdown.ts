import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Places } from '../programs/places.ts';
import { plainText } from './plain-text.ts';

/** The rest of a longer page is left out before it is made a document, which costs many times its size. */
const HTML_LIMIT_CHARS = 2 * 1_024 * 1_024;
const TIME_LIMIT_MS = 5_000;
const MOST_AT_A_TIME = 2;
const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };

export interface Converted {
  readonly text: string;
  readonly truncated: boolean;
}

/** From HTML to Markdown, each page in a thread that ends with it. */
export class MarkdownConversions {
  readonly #places = new Places();
  readonly #timeLimitMs: number;

  constructor(timeLimitMs = TIME_LIMIT_MS) {
    this.#timeLimitMs = timeLimitMs;
  }

  /** A page that is too deep, too large or too slow becomes plain text. Throws the signal's reason. */
  async convert(html: string, url: string, signal: AbortSignal): Promise<Converted> {
    const cut = html.slice(0, HTML_LIMIT_CHARS);
    const giveBack = await this.#places.take('', MOST_AT_A_TIME, signal);
    try {
      const text = await inThread({ html: cut, url }, this.#timeLimitMs, signal);
      return { text: text ?? plainText(cut), truncated: cut.length < html.length };
    } finally {
      giveBack();
    }
  }
}

/** Null when the thread failed. It sees no environment and writes nothing to the node's output. */
function inThread(
  given: { readonly html: string; readonly url: string },
  limitMs: number,
  signal: AbortSignal,
): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const file = new URL(`./markdown-worker${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(file, {
      ...{ workerData: given, resourceLimits: LIMITS, env: {}, execArgv: [] },
      ...{ stdin: false, stdout: true, stderr: true },
    });
    let over = false;
    const done = (settle: () => void): void => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      // Ended before it is told, so that no thread outlives its page.
      worker.terminate().then(settle, settle);
    };
    const onAbort = (): void => done(() => reject(signal.reason));
    const timer = setTimeout(() => done(() => resolve(null)), limitMs);
    signal.addEventListener('abort', onAbort, { once: true });
    worker.once('message', (text: unknown) => done(() => resolve(typeof text === 'string' ? text : null)));
    worker.once('error', () => done(() => resolve(null)));
    worker.once('exit', () => done(() => resolve(null)));
    if (signal.aborted) onAbort();
  });
}

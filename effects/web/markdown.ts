import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { requirePackages } from '../../runtime/kit/optional-packages.ts';
import { KeyedSemaphore } from '../semaphore.ts';

/** Longer pages are cut before they are parsed, since a document needs many times their size. */
const HTML_LIMIT_CHARS = 2 * 1_024 * 1_024;

const TIME_LIMIT_MS = 5_000;

const MAX_CONCURRENT = 2;

const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };

interface Converted {
  readonly text: string;
  readonly truncated: boolean;
}

/** Converts HTML to Markdown, each page in its own thread. */
export class MarkdownConversions {
  readonly #slots = new KeyedSemaphore();
  readonly #timeLimitMs: number;

  constructor(timeLimitMs = TIME_LIMIT_MS) {
    this.#timeLimitMs = timeLimitMs;
  }

  /** A page that is too deep, too large or too slow becomes plain text. Throws the signal's reason. */
  async convert(html: string, url: string, signal: AbortSignal): Promise<Converted> {
    requirePackages('markdown', 'web.fetch with to_markdown');
    const cut = html.slice(0, HTML_LIMIT_CHARS);
    const release = await this.#slots.acquire('', MAX_CONCURRENT, signal);
    try {
      const text = await inThread({ html: cut, url }, this.#timeLimitMs, signal);
      return { text: text ?? plainText(cut), truncated: cut.length < html.length };
    } finally {
      release();
    }
  }
}

/** Null if the thread failed. The thread has no environment and no access to the node's output. */
function inThread(
  given: { readonly html: string; readonly url: string },
  limitMs: number,
  signal: AbortSignal,
): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const file = new URL(`./markdown-worker${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(file, {
      workerData: given,
      resourceLimits: LIMITS,
      env: {},
      execArgv: [],
      stdin: false,
      stdout: true,
      stderr: true,
    });
    let over = false;
    const done = (settle: () => void): void => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      // Settles after the end of the thread, so that no thread outlives its page.
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

/** Elements without readable text. */
const HIDDEN = new Set(['script', 'style', 'noscript', 'template', 'svg']);
const BREAKS =
  /^(address|article|blockquote|br|dd|div|dl|dt|footer|h[1-6]|header|hr|li|main|ol|p|pre|section|table|tr|ul)$/;

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/** The text of a page without its tags, in one pass, for pages that are too deep or too slow to convert. */
function plainText(html: string): string {
  const parts: string[] = [];
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    parts.push(html.slice(at, open === -1 ? html.length : open));
    if (open === -1) break;
    const close = html.startsWith('<!--', open) ? html.indexOf('-->', open + 4) : html.indexOf('>', open);
    if (close === -1) break;
    const name = /^<\/?([a-z0-9]{1,20})/i.exec(html.slice(open, open + 24))?.[1]?.toLowerCase() ?? '';
    if (BREAKS.test(name)) parts.push('\n');
    at = HIDDEN.has(name) && html[open + 1] !== '/' ? endTag(html, name, close) : close + 1;
    if (html.startsWith('<!--', open)) at = close + 3;
  }
  return parts
    .join('')
    .replaceAll(/&(amp|lt|gt|quot|apos|nbsp);/g, (whole, name: string) => ENTITIES[name] ?? whole)
    .replaceAll(/[ \t\r\f]+/g, ' ')
    .replaceAll(/ ?\n[ \n]*/g, '\n')
    .trim();
}

/** Start of the end tag of an element, or the end of the text. */
function endTag(html: string, name: string, from: number): number {
  const rest = new RegExp(`</${name}[\\s>]`, 'gi');
  rest.lastIndex = from;
  const end = rest.exec(html);
  return end === null ? html.length : end.index;
}

import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { SvcError } from '../../runtime/errors.ts';
import { Places } from '../programs/input.ts';
import { plainText } from './plain-text.ts';

/** The rest of a longer page is left out before it is made a document, which costs many times its size. */
const HTML_LIMIT_CHARS = 2 * 1_024 * 1_024;

const TIME_LIMIT_MS = 5_000;

const MOST_AT_A_TIME = 2;

const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };

interface Converted {
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

const TEXTUAL =
  /^(text\/[^;]+|application\/(json|xml|javascript|ecmascript|x-javascript|x-ndjson|ndjson|jsonl|yaml|x-yaml|toml|sql|graphql|x-sh|x-www-form-urlencoded|rtf|x-subrip)|[^;]+\+(json|xml|yaml))$/;

const HTML = /^(text\/html|application\/xhtml\+xml)$/;

/** Where a page says which characters it is written in. */
const HEAD_BYTES = 1_024;

export interface ContentType {
  /** `text/html`, without parameters; empty when the server named none. */
  readonly type: string;
  readonly charset: string | null;
}

export function parseContentType(header: string): ContentType {
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim());
  const charset = parameters
    .map((parameter) => /^charset\s*=\s*"?([^"\s]+)"?$/i.exec(parameter)?.[1])
    .find((found) => found !== undefined);
  return { type: type.toLowerCase(), charset: charset ?? null };
}

export const isHtml = ({ type }: ContentType): boolean => HTML.test(type);

/** Throws `failed_precondition` naming type and size for what is no text. */
export function checkTextual({ type }: ContentType, size: string | undefined): void {
  if (type === '' || TEXTUAL.test(type)) return;
  const bytes = size !== undefined && /^\d{1,15}$/.test(size) ? `${size} bytes` : 'unknown size';
  throw new SvcError(
    'failed_precondition',
    `binary content of type ${type.slice(0, 100)}, ${bytes}: only text is read`,
  );
}

/** Bytes as text. A server that named no type gets the benefit of the doubt unless they hold NUL. */
export function decodeText(bytes: Buffer, content: ContentType): string {
  const marked = markedCharset(bytes);
  if (content.type === '' && marked === null && bytes.subarray(0, HEAD_BYTES).includes(0)) {
    throw new SvcError(
      'failed_precondition',
      `binary content without a type, ${bytes.length} bytes: only text is read`,
    );
  }
  const named = marked ?? content.charset ?? declaredCharset(bytes, content);
  return decoderOf(named ?? 'utf-8').decode(bytes);
}

function markedCharset(bytes: Buffer): string | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 'utf-8' : null;
}

function declaredCharset(bytes: Buffer, content: ContentType): string | null {
  if (!isHtml(content) && !content.type.endsWith('xml')) return null;
  const head = bytes.toString('latin1', 0, HEAD_BYTES);
  const declared = /<meta[^>]{0,200}charset\s{0,9}=\s{0,9}["']?([A-Za-z0-9_:.-]{1,40})/i.exec(head);
  const xml = /^<\?xml[^>]{0,200}encoding\s{0,9}=\s{0,9}["']([A-Za-z0-9_:.-]{1,40})/i.exec(head);
  const name = (declared ?? xml)?.[1] ?? null;
  // A page that can say this in single bytes is not written in sixteen bits.
  return name !== null && /^utf-?16/i.test(name) ? 'utf-8' : name;
}

function decoderOf(name: string) {
  try {
    return new TextDecoder(name);
  } catch {
    // No such character set: what is not UTF-8 shows as U+FFFD.
    return new TextDecoder('utf-8');
  }
}

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { linearRegex } from '../../../manifests/re2.ts';
import { Budget, type GrepFound, type SearchJob } from './job.ts';
import { isSkipped, walk } from './walk.ts';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** Longest line in the result; longer ones are cut. */
const LINE_CHARS = 500;

const BUFFER_BYTES = 64 * 1024;

/** Patterns with another meaning if matched against all lines together. */
const LINE_BOUND = /\\[AzZQ]|\(\?[A-Za-z]*-/;

type GrepJob = Extract<SearchJob, { kind: 'grep' }>;

type Matched = GrepFound['matches'][number];

/** Finds matching lines file by file. The regex engine needs linear time for any pattern. */
export function grep({ at, is_root, depth, only, pattern, bounds }: GrepJob): GrepFound {
  const budget = new Budget(bounds);
  const matchesOf = lineMatcher(pattern, budget);
  const required = requiredText(pattern);
  const files = new TextFiles(bounds.file_bytes, required === null ? () => true : textFinder(required));
  const matches: Matched[] = [];
  const look = (path: string, entry: string): void => {
    const text = files.read(entry);
    if (text !== null) matches.push(...matchesOf(path, text));
  };
  if (only !== null) look(only, `${at}/${only}`);
  else {
    for (const { path, kind, entry } of walk(at, { isRoot: is_root, depth })) {
      if (!budget.entry()) break;
      if (kind === 'file') look(path, entry);
    }
  }
  const { count, bytes, skipped } = files;
  return { kind: 'grep', matches, files: count, bytes, skipped, ended_by: budget.spent, entries: budget.entries };
}

function lineMatcher(pattern: string, budget: Budget): (path: string, text: string) => Matched[] {
  const regex = linearRegex(pattern);
  // Most files have no match: one match against the whole text is much cheaper than one per line.
  const anywhere = LINE_BOUND.test(pattern) ? null : linearRegex(`(?m:${pattern})`);
  return (path, text) => {
    const whole = text.includes('\r') ? text.replaceAll('\r\n', '\n') : text;
    if (anywhere !== null && !anywhere.test(whole)) return [];
    const found: Matched[] = [];
    const lines = whole.split('\n');
    if (lines.at(-1) === '') lines.pop();
    for (const [index, line] of lines.entries()) {
      if (!budget.going()) break;
      if (!regex.test(line)) continue;
      const shown = line.length > LINE_CHARS ? `${line.slice(0, LINE_CHARS)}…` : line;
      if (!budget.result(Buffer.byteLength(path) + Buffer.byteLength(shown) + 16)) break;
      found.push({ path, line: index + 1, text: shown });
    }
    return found;
  };
}

/** Reads files as text into one shared buffer. */
class TextFiles {
  readonly #maxBytes: number;
  readonly #mayMatch: (content: Buffer) => boolean;
  #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  count = 0;
  bytes = 0;
  skipped = 0;

  constructor(maxBytes: number, mayMatch: (content: Buffer) => boolean) {
    this.#maxBytes = maxBytes;
    this.#mayMatch = mayMatch;
  }

  /** Null for a file that is binary, too large or gone, and for one that cannot match. */
  read(entry: string): string | null {
    const content = this.#content(entry);
    if (content === null || content.includes(0)) {
      this.skipped += 1;
      return null;
    }
    this.count += 1;
    this.bytes += content.length;
    return this.#mayMatch(content) ? content.toString('utf8') : null;
  }

  #content(entry: string): Buffer | null {
    let fd: number;
    try {
      fd = openSync(entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch (thrown) {
      if (isSkipped(thrown)) return null;
      throw thrown;
    }
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile() || stats.size > this.#maxBytes) return null;
      if (stats.size > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(stats.size);
      let length = 0;
      while (length < stats.size) {
        const read = readSync(fd, this.#buffer, length, stats.size - length, length);
        if (read === 0) break;
        length += read;
      }
      return this.#buffer.subarray(0, length);
    } finally {
      closeSync(fd);
    }
  }
}

/** Characters by frequency, most frequent first; all others are rarer. */
const FREQUENT = ' etaoinsrlcdupmhgfbyvwkxzqj';

/** Misses of the rarest byte after which the whole text is searched. */
const TRIES = 24;

const PLAIN = /^[\w /:;,"'<>=&%#@!~`-]$/;

const ESCAPED_PLAIN = /^[^\w\s]$/;

/**
 * A text that every match of a pattern contains, or null if unknown: files without it need no regex. Uses only characters
 * outside groups and classes, so the result may be shorter than possible but never wrong.
 */
export function requiredText(pattern: string): string | null {
  if (pattern.includes('(?') || pattern.includes('\\Q')) return null;
  let best = '';
  let run = '';
  const end = (): void => {
    if (run.length > best.length) best = run;
    run = '';
  };
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern.charAt(at);
    const escaped = char === '\\' ? pattern.charAt(at + 1) : null;
    if (char === '|') return null;
    if (PLAIN.test(char)) run += char;
    else if (escaped !== null) {
      if (ESCAPED_PLAIN.test(escaped)) run += escaped;
      else end();
      // `\x41`, `\pL`, `\x{10FFFF}`: the characters after such a letter are not text.
      if (/[xpP0-9]/.test(escaped)) return null;
      at += 1;
    } else if (char === '*' || char === '?' || char === '{') {
      run = run.slice(0, -1);
      end();
      if (char === '{') at = pattern.indexOf('}', at);
    } else {
      end();
      if (char === '[' || char === '(') at = closing(pattern, at);
    }
    if (at < 0) return null;
  }
  end();
  return best === '' ? null : best;
}

/** The end of the class or group that starts here; -1: unknown. */
function closing(pattern: string, from: number): number {
  if (pattern.charAt(from) === '[') {
    // A `]` at the start belongs to the class.
    const first = pattern.charAt(from + 1) === '^' ? from + 2 : from + 1;
    for (let at = first + 1; at < pattern.length; at += 1) {
      if (pattern.charAt(at) === '\\') at += 1;
      else if (pattern.charAt(at) === '[') return -1;
      else if (pattern.charAt(at) === ']') return pattern.charAt(first) === '\\' ? -1 : at;
    }
    return -1;
  }
  for (let at = from + 1; at < pattern.length; at += 1) {
    const char = pattern.charAt(at);
    if (char === '\\') at += 1;
    else if (char === ')') return at;
    else if (char === '(' || char === '[') {
      at = closing(pattern, at);
      if (at < 0) return -1;
    }
  }
  return -1;
}

/** Finds a text in bytes by its rarest byte, because the search for a single byte is many times faster. */
export function textFinder(text: string): (content: Buffer) => boolean {
  const bytes = Buffer.from(text);
  const chars = [...text];
  const rarity = chars.map((char) => (FREQUENT.includes(char) ? FREQUENT.indexOf(char) : FREQUENT.length));
  const offset = rarity.indexOf(Math.max(...rarity));
  const rarest = bytes[offset] ?? 0;
  return (content) => {
    let at = content.indexOf(rarest, offset);
    for (let tries = 0; at !== -1; tries += 1) {
      const from = at - offset;
      if (tries === TRIES) return content.includes(bytes, from);
      if (content.compare(bytes, 0, bytes.length, from, Math.min(from + bytes.length, content.length)) === 0)
        return true;
      at = content.indexOf(rarest, at + 1);
    }
    return false;
  };
}

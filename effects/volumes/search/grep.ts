import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { linearRegex } from '../../../manifests/re2.ts';
import { Budget, type GrepFound, type SearchJob } from './job.ts';
import { requiredText, textFinder } from './required-text.ts';
import { isPassedOver, walk } from './walk.ts';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
/** Longest line that is shown; the rest is cut. */
const LINE_CHARS = 500;
const BUFFER_BYTES = 64 * 1024;
/** Patterns that mean something else when all lines are looked at together. */
const LINE_BOUND = /\\[AzZQ]|\(\?[A-Za-z]*-/;

type GrepJob = Extract<SearchJob, { kind: 'grep' }>;
type Matched = GrepFound['matches'][number];

/** Lines that match, file by file. The engine takes linear time whatever the pattern. */
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
  // Most files hold no match at all: one look at the whole text tells, and costs far less than one at each line.
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

/** Reads files as text. One buffer serves all of them. */
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

  /** Null for what is no text, too large, gone, or not a file any more, and for what cannot match. */
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
      if (isPassedOver(thrown)) return null;
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

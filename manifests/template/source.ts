import { parseSyntax, TemplateError } from './tree.ts';

/** The longest field with a template, the prompt of an agent, has this many characters. */
const MAX_TEMPLATE_CHARS = 262_144;

/** The parser takes about 10 µs for each of them. */
const MAX_MUSTACHES = 25_000;

/** Nesting of blocks; each `{{else if}}` of a chain counts as one more. */
const MAX_BLOCK_DEPTH = 64;

const MAX_CALL_DEPTH = 16;

/** A template's text, and the mapping from the parser's positions back to the author's. */
export class TemplateSource {
  readonly #text: string;
  readonly #parsed: string;
  /** Ends of the indexes that were bracketed, in the parsed text. */
  readonly #bracketed: readonly number[];
  readonly #lineStarts: readonly number[];

  /** Throws TemplateError `invalid` for text that the parser cannot handle safely. */
  constructor(text: string) {
    if (text.length > MAX_TEMPLATE_CHARS) {
      throw new TemplateError('invalid', `expected at most ${MAX_TEMPLATE_CHARS} characters, got ${text.length}`);
    }
    this.#text = text;
    const { parsed, bracketed } = scan(text);
    this.#parsed = parsed;
    this.#bracketed = bracketed;
    this.#lineStarts = lineStarts(parsed);
  }

  parse(): hbs.AST.Program {
    try {
      return parseSyntax(this.#parsed);
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : 'it does not parse';
      throw new TemplateError('invalid', reason.replace(/\s+/g, ' ').slice(0, 300));
    }
  }

  offset(position: hbs.AST.Position): number {
    const at = (this.#lineStarts[position.line - 1] ?? 0) + position.column;
    return at - 2 * countUpTo(this.#bracketed, at);
  }

  written(location: hbs.AST.SourceLocation): string {
    return this.#text.slice(this.offset(location.start), this.offset(location.end)).trim();
  }
}

/** The parser takes minutes for a few thousand open blocks or brackets, so they are counted first. */
function scan(text: string): { parsed: string; bracketed: number[] } {
  const chains: number[] = [];
  const pieces: string[] = [];
  const bracketed: number[] = [];
  let count = 0;
  let depth = 0;
  let copied = 0;
  for (const mustache of mustachesOf(text)) {
    count += 1;
    if (count > MAX_MUSTACHES) throw new TemplateError('invalid', `expected at most ${MAX_MUSTACHES} expressions`);
    if (mustache.callDepth > MAX_CALL_DEPTH) {
      throw new TemplateError('invalid', `calls are nested deeper than ${MAX_CALL_DEPTH}`);
    }
    depth += depthChange(mustache, chains);
    if (depth > MAX_BLOCK_DEPTH) throw new TemplateError('invalid', `blocks are nested deeper than ${MAX_BLOCK_DEPTH}`);
    for (const { from, to } of mustache.lastIndexes) {
      pieces.push(text.slice(copied, from), '[', text.slice(from, to), ']');
      bracketed.push(to + 2 * (bracketed.length + 1));
      copied = to;
    }
  }
  pieces.push(text.slice(copied));
  return { parsed: pieces.join(''), bracketed };
}

/** `chains` has the depth of `{{else if}}` for each open block. */
function depthChange(mustache: Mustache, chains: number[]): number {
  if (mustache.sign === '/') return -(chains.pop() ?? 0);
  if (mustache.sign === '' || (mustache.isBare && mustache.sign !== '#')) return 0;
  chains.push(mustache.sign === 'else' ? (chains.pop() ?? 0) + 1 : 1);
  return 1;
}

/** Lines as the parser counts them. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (const match of text.matchAll(/\r\n?|\n/g)) starts.push(match.index + match[0].length);
  return starts;
}

/** How many of the sorted numbers are at most `limit`. */
function countUpTo(sorted: readonly number[], limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** One `{{…}}` of a text, recognised as by the parser's lexer; comments and escaped ones are omitted. */
interface Mustache {
  /** Its first sign; '' for a value. */
  readonly sign: '#' | '^' | '/' | 'else' | '';
  /** Whether it is `{{else}}` or `{{^}}` alone. */
  readonly isBare: boolean;
  /** Highest number of open brackets. */
  readonly callDepth: number;
  /** Ends of paths that end with a number, and the start of that number. */
  readonly lastIndexes: readonly { readonly from: number; readonly to: number }[];
}

const COMMENT = /\{\{~?!/y;

const LONG_COMMENT = /\{\{~?!--/y;

const LONG_COMMENT_END = /--~?\}\}/g;

const OPEN = /\{\{\{?[&~]?\s*(#|\^|\/|else)?/y;

// Text and names in brackets, as the lexer reads them: a final escaped quote may close; an unclosed one ends the template.
const TOKEN =
  /"(?:\\"|[^"])*"|'(?:\\'|[^'])*'|\[(?:\\\]|[^\]])*\]|["'[][\s\S]*|[()]|\}~?\}\}|\}\}?|[^\s()'"[\]{}~=|]+|[\s\S]/y;

const LAST_INDEX = /\.([0-9]+)$/;

const NUMBER = /^-?[0-9]+(?:\.[0-9]+)?$/;

/** Stops where the parser will refuse the text. Throws TemplateError `invalid` for raw blocks. */
export function* mustachesOf(text: string): Generator<Mustache> {
  let at = 0;
  while (at !== -1) {
    const open = text.indexOf('{{', at);
    if (open === -1) return;
    if (text.startsWith('{{{{', open)) throw new TemplateError('invalid', 'raw blocks are not available');
    if (isEscaped(text, open)) at = open + 2;
    else if (matches(COMMENT, text, open) !== null) at = commentEnd(text, open);
    else {
      const { mustache, end } = mustacheAt(text, open);
      yield mustache;
      at = end;
    }
  }
}

/** `\{{` is text, `\\{{` is a backslash and an expression. */
function isEscaped(text: string, open: number): boolean {
  return text[open - 1] === '\\' && text[open - 2] !== '\\';
}

function commentEnd(text: string, open: number): number {
  if (matches(LONG_COMMENT, text, open) === null) {
    const close = text.indexOf('}}', open);
    return close === -1 ? -1 : close + 2;
  }
  LONG_COMMENT_END.lastIndex = open;
  const close = LONG_COMMENT_END.exec(text);
  return close === null ? -1 : close.index + close[0].length;
}

function mustacheAt(text: string, open: number): { mustache: Mustache; end: number } {
  const [start = '', sign = ''] = matches(OPEN, text, open) ?? [];
  const lastIndexes: { from: number; to: number }[] = [];
  let callDepth = 0;
  let calls = 0;
  let words = 0;
  let at = open + start.length;
  let end = -1;
  for (let token = tokenAt(text, at); token !== null; token = tokenAt(text, at)) {
    const from = at;
    at += token.length;
    if (token.startsWith('}')) {
      end = token === '}' ? -1 : at;
      break;
    }
    if (token === '(') calls += 1;
    else if (token === ')') calls -= 1;
    else if (token.trim() !== '' && token !== '~') words += 1;
    callDepth = Math.max(callDepth, calls);
    const index = lastIndexOf(token);
    if (index !== null) lastIndexes.push({ from: from + token.length - index.length, to: at });
  }
  return { mustache: { sign: signOf(sign), isBare: words === 0, callDepth, lastIndexes }, end };
}

function tokenAt(text: string, at: number): string | null {
  return matches(TOKEN, text, at)?.[0] ?? null;
}

/** The digits at the end of a path; the parser accepts `items.0.name` and `items.[0]`, but not `items.0`. */
function lastIndexOf(token: string): string | null {
  if (/^["'[]/.test(token) || NUMBER.test(token)) return null;
  return LAST_INDEX.exec(token)?.[1] ?? null;
}

function signOf(sign: string): Mustache['sign'] {
  return sign === '#' || sign === '^' || sign === '/' || sign === 'else' ? sign : '';
}

function matches(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

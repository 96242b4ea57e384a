import { TemplateError } from './fault.ts';

/** One `{{…}}` of a text, found as the parser's lexer finds it; comments and escaped ones are left out. */
export interface Mustache {
  /** What it begins with; '' for a value. */
  readonly sign: '#' | '^' | '/' | 'else' | '';
  /** It is `{{else}}` or `{{^}}` alone. */
  readonly isBare: boolean;
  /** Most brackets that are open at once. */
  readonly callDepth: number;
  /** Ends of paths that end in a number, and where that number begins. */
  readonly lastIndexes: readonly { readonly from: number; readonly to: number }[];
}

const COMMENT = /\{\{~?!/y;
const LONG_COMMENT = /\{\{~?!--/y;
const LONG_COMMENT_END = /--~?\}\}/g;
const OPEN = /\{\{\{?[&~]?\s*(#|\^|\/|else)?/y;
// Text and names in brackets as the lexer takes them, a last escaped quote may close; unclosed they end the template.
const TOKEN =
  /"(?:\\"|[^"])*"|'(?:\\'|[^'])*'|\[(?:\\\]|[^\]])*\]|["'[][\s\S]*|[()]|\}~?\}\}|\}\}?|[^\s()'"[\]{}~=|]+|[\s\S]/y;
const LAST_INDEX = /\.([0-9]+)$/;
const NUMBER = /^-?[0-9]+(?:\.[0-9]+)?$/;

/** Ends early where the parser will refuse the text. Throws TemplateError `invalid` for raw blocks. */
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

/** The digits at the end of a path; the parser takes `items.0.name` and `items.[0]`, but not `items.0`. */
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

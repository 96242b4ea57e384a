import { TemplateError } from './fault.ts';
import { type Mustache, mustachesOf } from './mustaches.ts';
import { parseSyntax } from './syntax.ts';

/** The longest field that may be a template, the prompt of an agent, holds this many characters. */
const MAX_TEMPLATE_CHARS = 262_144;
/** The parser takes about 10 µs for each. */
const MAX_MUSTACHES = 25_000;
/** Blocks inside blocks; a chain of `{{else if}}` counts as one more each. */
const MAX_BLOCK_DEPTH = 64;
const MAX_CALL_DEPTH = 16;

/** A template's text, with the way from the parser's positions back to the author's. */
export class TemplateSource {
  readonly #text: string;
  readonly #parsed: string;
  /** Ends, in the parsed text, of the indexes that were put in brackets. */
  readonly #bracketed: readonly number[];
  readonly #lineStarts: readonly number[];

  /** Throws TemplateError `invalid` for what must not reach the parser. */
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

/** `chains` has, for each open block, how many `{{else if}}` deep it is. */
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

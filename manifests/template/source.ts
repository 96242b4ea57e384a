import Handlebars from 'handlebars';
import { TemplateError } from './fault.ts';

/** The longest field that may be a template, the prompt of an agent, holds this many characters. */
export const MAX_TEMPLATE_CHARS = 262_144;
/** The parser takes about 10 µs for each. */
const MAX_MUSTACHES = 25_000;
/** Blocks inside blocks; a chain of `{{else if}}` counts as one more each. */
const MAX_BLOCK_DEPTH = 64;
const MAX_CALL_DEPTH = 16;

const MUSTACHE = /(?<!\\)\{\{[^}]*\}/g;
const WORD = /"(?:\\"|[^"])*"|'(?:\\'|[^'])*'|\[[^\]]*\]|[^\s()'"|=}{[\]~]+/g;
const NUMBER = /^-?[0-9]+(?:\.[0-9]+)?$/;
const LAST_INDEX = /\.([0-9]+)$/;

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
    checkDepth(text);
    this.#text = text;
    const { parsed, bracketed } = bracketLastIndexes(text);
    this.#parsed = parsed;
    this.#bracketed = bracketed;
    this.#lineStarts = lineStarts(parsed);
  }

  parse(): hbs.AST.Program {
    try {
      return Handlebars.parse(this.#parsed);
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : 'it does not parse';
      throw new TemplateError('invalid', reason.replace(/\s+/g, ' ').slice(0, 300));
    }
  }

  offset(position: hbs.AST.Position): number {
    const at = (this.#lineStarts[position.line - 1] ?? 0) + position.column;
    return at - 2 * this.#bracketed.filter((end) => end <= at).length;
  }

  written(location: hbs.AST.SourceLocation): string {
    return this.#text.slice(this.offset(location.start), this.offset(location.end)).trim();
  }
}

/** The parser takes minutes for a few thousand open blocks or brackets, so they are counted first. */
function checkDepth(text: string): void {
  const chains: number[] = [];
  let depth = 0;
  let mustaches = 0;
  for (const match of text.matchAll(/\{\{+~?\s*(#|\^|\/|else\b)?([^}]*)/g)) {
    const [, sign, rest = ''] = match;
    mustaches += 1;
    if (mustaches > MAX_MUSTACHES) throw new TemplateError('invalid', `expected at most ${MAX_MUSTACHES} expressions`);
    if (sign === '#' || (sign === '^' && rest.trim() !== '' && rest.trim() !== '~')) {
      depth += 1;
      chains.push(1);
    } else if (sign === 'else' && rest.trim() !== '' && rest.trim() !== '~') {
      depth += 1;
      chains.push((chains.pop() ?? 0) + 1);
    } else if (sign === '/') depth -= chains.pop() ?? 0;
    if (depth > MAX_BLOCK_DEPTH) throw new TemplateError('invalid', `blocks are nested deeper than ${MAX_BLOCK_DEPTH}`);
    checkCalls(rest);
  }
}

function checkCalls(inside: string): void {
  let open = 0;
  for (const character of inside) {
    if (character === '(') open += 1;
    else if (character === ')') open -= 1;
    if (open > MAX_CALL_DEPTH) throw new TemplateError('invalid', `calls are nested deeper than ${MAX_CALL_DEPTH}`);
  }
}

/** The parser takes `items.0.name` and `items.[0]`, but not `items.0` at the end of a path. */
function bracketLastIndexes(text: string): { parsed: string; bracketed: number[] } {
  const bracketed: number[] = [];
  const parsed = text.replace(MUSTACHE, (mustache, start: number) =>
    mustache.replace(WORD, (word, inside: number) => {
      if (/^["'[]/.test(word) || NUMBER.test(word)) return word;
      return word.replace(LAST_INDEX, (_dotted, index: string) => {
        bracketed.push(start + inside + word.length + 2 * (bracketed.length + 1));
        return `.[${index}]`;
      });
    }),
  );
  return { parsed, bracketed };
}

/** Lines as the parser counts them. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (const match of text.matchAll(/\r\n?|\n/g)) starts.push(match.index + match[0].length);
  return starts;
}

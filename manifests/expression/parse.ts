import { FUNCTIONS } from '../template/functions.ts';
import { RecentByText, templateOf } from '../template/parse.ts';
import { type Reference, templateReferences, termReferences } from '../template/references.ts';
import { type Template, TemplateError, type Term, type Value } from '../template/tree.ts';

/** Limit of an expression's text: it is a condition, not a program. */
const MAX_EXPRESSION_CHARS = 8_192;

const MAX_DEPTH = 64;

const ORDER = new Set<string>(['<', '>', '<=', '>=']);

const EQUALITY = new Set<string>(['==', '!=']);

/**
 * Parses a text. From loosest to tightest: `||`, `&&`, `== !=`, `< > <= >=`, `!`. Comparisons are not chained: `1 < 2 <
 * 3` is refused. Throws TemplateError `invalid`.
 */
function parseExpression(text: string): Expression {
  if (text.length > MAX_EXPRESSION_CHARS) {
    throw new TemplateError('invalid', `expected at most ${MAX_EXPRESSION_CHARS} characters, got ${text.length}`);
  }
  return new Parser(tokensOf(text), text.length).whole();
}

const recent = new RecentByText(parseExpression, 1_000, 1_024 * 1_024);

/** The tree of an expression, cached. Throws TemplateError `invalid`. */
export function expressionOf(text: string): Expression {
  return recent.get(text);
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #end: number;
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[], end: number) {
    this.#tokens = tokens;
    this.#end = end;
  }

  whole(): Expression {
    const expression = this.#or();
    const rest = this.#tokens[this.#at];
    if (rest !== undefined) throw invalid(rest.offset, 'expected an operator or the end');
    return expression;
  }

  #take(signs: ReadonlySet<string>): string | null {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'sign' || !signs.has(token.sign)) return null;
    this.#at += 1;
    return token.sign;
  }

  #list(kind: 'and' | 'or', sign: string, next: () => Expression): Expression {
    const first = next();
    const terms = [first];
    while (this.#take(new Set([sign])) !== null) terms.push(next());
    return terms.length === 1 ? first : { kind, terms };
  }

  #or(): Expression {
    return this.#list('or', '||', () => this.#and());
  }

  #and(): Expression {
    return this.#list('and', '&&', () => this.#comparison(EQUALITY, () => this.#comparison(ORDER, () => this.#not())));
  }

  #comparison(signs: ReadonlySet<string>, next: () => Expression): Expression {
    const left = next();
    const operator = this.#take(signs);
    if (operator === null || !isComparison(operator)) return left;
    const right = next();
    const again = this.#tokens[this.#at];
    if (again?.kind === 'sign' && signs.has(again.sign)) {
      throw invalid(again.offset, 'comparisons are not chained: join two with &&');
    }
    return { kind: 'compare', operator, left, right };
  }

  #not(): Expression {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'sign' || token.sign !== '!') return this.#operand();
    this.#at += 1;
    return this.#deeper(token.offset, () => ({ kind: 'not', term: this.#not() }));
  }

  #operand(): Expression {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw invalid(this.#end, 'expected a value, got the end');
    this.#at += 1;
    if (token.kind === 'operand') return token.operand;
    if (token.sign !== '(') throw invalid(token.offset, `expected a value, got ${token.sign}`);
    const inside = this.#deeper(token.offset, () => this.#or());
    if (this.#take(new Set([')'])) === null) {
      throw invalid(this.#tokens[this.#at]?.offset ?? this.#end, 'expected an operator or )');
    }
    return inside;
  }

  #deeper(offset: number, next: () => Expression): Expression {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw invalid(offset, `nested deeper than ${MAX_DEPTH}`);
    const expression = next();
    this.#depth -= 1;
    return expression;
  }
}

function isComparison(sign: string): sign is Comparison {
  return ORDER.has(sign) || EQUALITY.has(sign);
}

/** Why a text is not a boolean expression, with the place; null when it is one. */
export function checkExpression(text: string): string | null {
  try {
    expressionOf(text);
    return null;
  } catch (thrown) {
    if (thrown instanceof TemplateError) return thrown.message;
    throw thrown;
  }
}

/**
 * Every variable that an expression reads, as written, in order.
 * Throws TemplateError `invalid`.
 */
export function expressionReferences(text: string): readonly Reference[] {
  return referencesOf(expressionOf(text));
}

function referencesOf(expression: Expression): readonly Reference[] {
  switch (expression.kind) {
    case 'literal':
      return [];
    case 'term':
      return moved(termReferences(expression.term), expression.offset);
    case 'text':
      return moved(templateReferences(expression.text), expression.offset);
    case 'not':
      return referencesOf(expression.term);
    case 'and':
    case 'or':
      return expression.terms.flatMap(referencesOf);
    case 'compare':
      return [...referencesOf(expression.left), ...referencesOf(expression.right)];
  }
}

function moved(references: readonly Reference[], by: number): readonly Reference[] {
  return references.map((reference) => ({ ...reference, offset: reference.offset + by }));
}

export type Comparison = '<' | '>' | '<=' | '>=' | '==' | '!=';

/** An operand. */
export type Operand =
  | { readonly kind: 'literal'; readonly value: Value }
  /** `BUILD.score`, `{{BUILD.score}}`, `(length x)`. `offset` leads from the term's own offsets to the expression's. */
  | { readonly kind: 'term'; readonly term: Term; readonly offset: number }
  /** Quoted text with templates inside, or a block template: rendered, then a value. */
  | { readonly kind: 'text'; readonly template: Template; readonly text: string; readonly offset: number };

export type Expression =
  | Operand
  | { readonly kind: 'not'; readonly term: Expression }
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Expression[] }
  | { readonly kind: 'compare'; readonly operator: Comparison; readonly left: Expression; readonly right: Expression };

type Token = { readonly offset: number } & (
  | { readonly kind: 'sign'; readonly sign: string }
  | { readonly kind: 'operand'; readonly operand: Operand }
);

const SPACE = /\s+/y;

const SIGN = /<=|>=|==|!=|&&|\|\||[<>!()]/y;

const NUMBER = /-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?(?![^\s<>=!&|()])/y;

const QUOTED = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"/sy;

const SEGMENT = String.raw`(?:\[[^\]]*\]|[^\s!"#%&'()*+,./;<=>@[\\\]^${'`'}{|}~]+)`;

const PATH = new RegExp(String.raw`${SEGMENT}(?:\.${SEGMENT})*`, 'y');

const CALL = /\(\s*([a-zA-Z_]+)\s+(?![\s<>=!&|)])/y;

const BLOCK_TAG = /\{\{~?\s*([#^/])([^}]*)/g;

const ESCAPES = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
]);

const LITERALS = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** Splits an expression into operators and operands. Throws TemplateError `invalid` with the place. */
function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    const space = match(SPACE, text, at);
    if (space !== null) {
      at += space.length;
      continue;
    }
    const { token, end } = tokenAt(text, at);
    tokens.push(token);
    at = end;
  }
  return tokens;
}

function invalid(offset: number, message: string): TemplateError {
  return new TemplateError('invalid', `at character ${offset + 1}: ${message}`);
}

interface Cut {
  readonly token: Token;
  readonly end: number;
}

function tokenAt(text: string, at: number): Cut {
  if (text.startsWith('{{', at)) return template(text, at);
  if (match(CALL, text, at) !== null) {
    const name = /[a-zA-Z_]+/.exec(text.slice(at))?.[0] ?? '';
    if (FUNCTIONS.has(name)) return call(text, at);
  }
  const sign = match(SIGN, text, at);
  if (sign !== null) return { token: { kind: 'sign', sign, offset: at }, end: at + sign.length };
  const quoted = match(QUOTED, text, at);
  if (quoted !== null) return operand(at, quotedOperand(quoted, at), at + quoted.length);
  const number = match(NUMBER, text, at);
  if (number !== null) return operand(at, { kind: 'literal', value: Number(number) }, at + number.length);
  const path = match(PATH, text, at);
  if (path === null) throw invalid(at, `unexpected ${JSON.stringify(text.slice(at, at + 10))}`);
  const literal = LITERALS.get(path);
  if (literal !== undefined) return operand(at, { kind: 'literal', value: literal }, at + path.length);
  return operand(at, term(path, at), at + path.length);
}

function match(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}

function operand(offset: number, found: Operand, end: number): Cut {
  return { token: { kind: 'operand', operand: found, offset }, end };
}

/** A path or a call as the template language reads it; `at` is where `inside` begins. */
function term(inside: string, at: number): Operand {
  const [node, ...more] = parsed(`{{${inside}}}`, at).nodes;
  if (node?.kind !== 'value' || more.length > 0) throw invalid(at, 'expected one value');
  return { kind: 'term', term: node.term, offset: at - 2 };
}

function call(text: string, at: number): Cut {
  let depth = 0;
  for (let index = at; index < text.length; index += 1) {
    const quoted = match(QUOTED, text, index);
    if (quoted !== null) index += quoted.length - 1;
    else if (text[index] === '(') depth += 1;
    else if (text[index] === ')') depth -= 1;
    if (depth === 0) return operand(at, term(text.slice(at + 1, index), at + 1), index + 1);
  }
  throw invalid(at, 'the bracket is not closed');
}

/** `{{path}}`, `{{helper path}}`, or a whole block up to its end. */
function template(text: string, at: number): Cut {
  const end = templateEnd(text, at);
  const source = text.slice(at, end);
  const { nodes } = parsed(source, at);
  const [node] = nodes;
  if (nodes.length !== 1 || node === undefined) throw invalid(at, 'expected one value in {{…}}');
  if (node.kind === 'value') return operand(at, { kind: 'term', term: node.term, offset: at }, end);
  if (/[<>=&|]/.test(source.replace(/\{\{[^}]*\}\}/g, ''))) {
    throw invalid(at, 'operators inside a block are not evaluated: write the comparison around the block');
  }
  return operand(at, { kind: 'text', template: { nodes }, text: source, offset: at }, end);
}

function templateEnd(text: string, at: number): number {
  const close = text.indexOf('}}', at);
  if (close === -1) throw invalid(at, '{{ is not closed');
  let end = close + 2;
  while (text[end] === '}') end += 1;
  if (!/^\{\{~?\s*[#^]/.test(text.slice(at, at + 40))) return end;
  let depth = 0;
  BLOCK_TAG.lastIndex = at;
  for (let tag = BLOCK_TAG.exec(text); tag !== null; tag = BLOCK_TAG.exec(text)) {
    const [whole, sign, rest = ''] = tag;
    if (sign === '/') depth -= 1;
    else if (sign === '#' || rest.replace('~', '').trim() !== '') depth += 1;
    const tagEnd = tag.index + whole.length;
    if (depth === 0) return text.startsWith('}}', tagEnd) ? tagEnd + 2 : text.length;
  }
  throw invalid(at, 'the block is not closed');
}

function quotedOperand(quoted: string, at: number): Operand {
  const inside = quoted.slice(1, -1);
  if (inside.includes('{{')) {
    return { kind: 'text', template: parsed(inside, at), text: inside, offset: at + 1 };
  }
  const value = inside.replace(/\\(.)/gs, (_whole, letter: string) => ESCAPES.get(letter) ?? letter);
  return { kind: 'literal', value };
}

function parsed(source: string, at: number) {
  try {
    return templateOf(source);
  } catch (thrown) {
    if (thrown instanceof TemplateError) throw invalid(at, thrown.message);
    throw thrown;
  }
}

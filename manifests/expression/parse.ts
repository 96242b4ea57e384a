import { RecentByText } from '../template/parse.ts';
import { type Reference, templateReferences, termReferences } from '../template/references.ts';
import { TemplateError, type Term } from '../template/tree.ts';
import { hasOperators, invalid, type Operand, type Token, tokensOf } from './tokens.ts';

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
  return new Parser(text).whole();
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
  #depth: number;

  constructor(text: string, depth = 0) {
    this.#tokens = tokensOf(text);
    this.#end = text.length;
    this.#depth = depth;
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
    if (token.kind === 'choice') return this.#choice(token);
    if (token.sign !== '(') throw invalid(token.offset, `expected a value, got ${token.sign}`);
    const inside = this.#deeper(token.offset, () => this.#or());
    if (this.#take(new Set([')'])) === null) {
      throw invalid(this.#tokens[this.#at]?.offset ?? this.#end, 'expected an operator or )');
    }
    return inside;
  }

  #choice({ offset, test, isNegated, whenTrue, otherwise }: Token & { readonly kind: 'choice' }): Expression {
    const inside = (branch: string): Expression => this.#deeper(offset, () => this.#branch(branch));
    const made = { kind: 'choice', test, offset, isNegated, whenTrue: inside(whenTrue) } as const;
    return { ...made, otherwise: otherwise === null ? null : inside(otherwise) };
  }

  /** A branch without operators has the same value as a block without operators: a text, or a number. */
  #branch(branch: string): Expression {
    const inside = branch.trim();
    if (inside === '') return { kind: 'literal', value: '' };
    if (hasOperators(inside)) return new Parser(branch, this.#depth).whole();
    const block = '{{#if true}}';
    const before = ' '.repeat(Math.max(0, branch.indexOf(inside) - block.length));
    return new Parser(`${before}${block}${inside}{{/if}}`, this.#depth).whole();
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

/** Why a text is not a boolean expression, with the position; null when it is one. */
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
    case 'choice': {
      const { test, offset, whenTrue, otherwise } = expression;
      const tested = moved(termReferences(test), offset).map((reference) => ({ ...reference, conditional: true }));
      return [...tested, ...referencesOf(whenTrue), ...(otherwise === null ? [] : referencesOf(otherwise))];
    }
  }
}

function moved(references: readonly Reference[], by: number): readonly Reference[] {
  return references.map((reference) => ({ ...reference, offset: reference.offset + by }));
}

export type Comparison = '<' | '>' | '<=' | '>=' | '==' | '!=';

export type Expression =
  | Operand
  | { readonly kind: 'not'; readonly term: Expression }
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Expression[] }
  | { readonly kind: 'compare'; readonly operator: Comparison; readonly left: Expression; readonly right: Expression }
  | Choice;

/** `{{#if TEST}}…{{else}}…{{/if}}` whose branches are expressions. */
interface Choice {
  readonly kind: 'choice';
  readonly test: Term;
  readonly offset: number;
  readonly isNegated: boolean;
  readonly whenTrue: Expression;
  /** Null: there is no `{{else}}`, so that branch has no value. */
  readonly otherwise: Expression | null;
}

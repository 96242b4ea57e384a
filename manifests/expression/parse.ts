import { TemplateError } from '../template/fault.ts';
import { RecentByText } from '../template/parsed.ts';
import { invalid, type Token, tokensOf } from './tokens.ts';
import type { Comparison, Expression } from './tree.ts';

/** An expression is a condition, not a program. */
const MAX_EXPRESSION_CHARS = 8_192;
const MAX_DEPTH = 64;

const ORDER = new Set<string>(['<', '>', '<=', '>=']);
const EQUALITY = new Set<string>(['==', '!=']);

/**
 * Text to tree. From loosest to tightest: `||`, `&&`, `== !=`, `< > <= >=`, `!`. A comparison is not chained:
 * `1 < 2 < 3` is refused. Throws TemplateError `invalid`.
 */
function parseExpression(text: string): Expression {
  if (text.length > MAX_EXPRESSION_CHARS) {
    throw new TemplateError('invalid', `expected at most ${MAX_EXPRESSION_CHARS} characters, got ${text.length}`);
  }
  return new Parser(tokensOf(text), text.length).whole();
}

const recent = new RecentByText(parseExpression, 1_000, 1_024 * 1_024);

/** The tree of an expression, parsed once. Throws TemplateError `invalid`. */
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

import type { Json, JsonMap } from './manifest.ts';
import { isEqual, numberIn, render, valueIn } from './templates.ts';

const TOKEN = /\s*(\{\{.+?\}\}|\|\||&&|[<>=!]=|[<>!]|"[^"]*"|'[^']*'|\((?:[a-z_]+ [^()]*)\)|[()]|[^\s()<>=!&|]+)/y;

/**
 * The expression of a `custom` transition: `<`, `>`, `<=`, `>=`, `==`, `!=`, `&&`, `||`, `!` and parentheses over values,
 * literals and helpers. Tightest first: `!`, order, equality, and, or.
 */
export function isTrue(expression: string, scope: JsonMap, state: string): boolean {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(expression); found !== null; found = TOKEN.exec(expression)) tokens.push(found[1] ?? '');
  const reader = new Reader(tokens, scope, state);
  return truth(reader.or());
}

const truth = (value: Json): boolean =>
  ![false, null, 0, '', 'false'].includes(typeof value === 'object' ? null : value);

class Reader {
  readonly #tokens: string[];
  readonly #scope: JsonMap;
  readonly #state: string;

  constructor(tokens: readonly string[], scope: JsonMap, state: string) {
    this.#tokens = [...tokens];
    this.#scope = scope;
    this.#state = state;
  }

  or(): Json {
    let value = this.#and();
    while (this.#takes('||')) {
      const next = this.#and();
      value = truth(value) || truth(next);
    }
    return value;
  }

  #and(): Json {
    let value = this.#equality();
    while (this.#takes('&&')) {
      const next = this.#equality();
      value = truth(value) && truth(next);
    }
    return value;
  }

  #equality(): Json {
    const value = this.#order();
    if (this.#takes('==')) return isEqual(value, this.#order());
    if (this.#takes('!=')) return !isEqual(value, this.#order());
    return value;
  }

  #order(): Json {
    const value = this.#not();
    const operator = this.#tokens[0] ?? '';
    if (!['<', '>', '<=', '>='].includes(operator)) return value;
    this.#tokens.shift();
    const [one, other] = [numberIn(value), numberIn(this.#not())];
    if (one === undefined || other === undefined) return false;
    if (operator === '<') return one < other;
    if (operator === '>') return one > other;
    return operator === '<=' ? one <= other : one >= other;
  }

  #not(): Json {
    return this.#takes('!') ? !truth(this.#not()) : this.#operand();
  }

  #operand(): Json {
    const token = this.#tokens.shift() ?? '';
    if (token === '(') {
      const value = this.or();
      this.#tokens.shift();
      return value;
    }
    // A whole block has its text as value.
    if (token.startsWith('{{#')) return this.#block(token);
    if (token.startsWith('{{')) return valueIn(token.slice(2, -2).trim(), this.#scope, this.#state);
    // A text may contain templates.
    if (/^["']/.test(token)) return render(token.slice(1, -1), this.#scope, this.#state);
    return valueIn(token, this.#scope, this.#state);
  }

  #block(first: string): Json {
    let text = first;
    while (this.#tokens.length > 0 && !text.includes('{{/')) text += ` ${this.#tokens.shift()}`;
    return render(text, this.#scope, this.#state);
  }

  #takes(operator: string): boolean {
    if (this.#tokens[0] !== operator) return false;
    this.#tokens.shift();
    return true;
  }
}

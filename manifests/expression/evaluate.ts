import { isFilled, JsonTexts, type OnRead, Rendering } from '../template/rendering.ts';
import {
  Budget,
  isEqual,
  Missing,
  numberIn,
  numberOf,
  TemplateError,
  type Value,
  type ValueMap,
} from '../template/tree.ts';
import { type Comparison, type Expression, expressionOf } from './parse.ts';
import type { Operand } from './tokens.ts';

/** Limit of an operand's rendered text. */
const MAX_OPERAND_CHARS = 4 * 1_024 * 1_024;

interface EvaluateOptions {
  /** State of the transition, named in errors. */
  readonly state: string;
  /** Whether paths lead into texts that hold JSON. */
  readonly jsonTexts?: boolean;
  /** Called with each path that affects the result, in the order of reading: the right side of `false && …` is not read. */
  readonly onRead?: OnRead;
}

/**
 * Whether a `custom` condition holds over plain data (W16). Values are data: their text is never read as operators. A
 * missing key is null. Throws TemplateError `invalid` or `too_much_work`.
 */
export function evaluateExpression(text: string, scope: ValueMap, options: EvaluateOptions): boolean {
  try {
    return isTruthy(new Evaluation(scope, options).value(expressionOf(text)));
  } catch (thrown) {
    if (thrown instanceof TemplateError) {
      throw new TemplateError(thrown.code, `the expression of state ${options.state}: ${thrown.message}`);
    }
    // JSON.stringify on a value nested too deep for the stack.
    if (thrown instanceof RangeError) throw new TemplateError('too_much_work', 'a value is nested too deep');
    throw thrown;
  }
}

class Evaluation {
  readonly #scope: ValueMap;
  readonly #texts: JsonTexts | null;
  readonly #onRead: OnRead | undefined;
  readonly #budget = new Budget(MAX_OPERAND_CHARS);

  constructor(scope: ValueMap, { jsonTexts = false, onRead }: EvaluateOptions) {
    this.#scope = scope;
    this.#texts = jsonTexts ? new JsonTexts() : null;
    this.#onRead = onRead;
  }

  #rendering(): Rendering {
    return new Rendering(this.#scope, this.#budget, () => '', this.#texts, this.#onRead);
  }

  value(expression: Expression): Value {
    this.#budget.step();
    switch (expression.kind) {
      case 'not':
        return !isTruthy(this.value(expression.term));
      case 'and':
        return expression.terms.every((term) => isTruthy(this.value(term)));
      case 'or':
        return expression.terms.some((term) => isTruthy(this.value(term)));
      case 'compare':
        return compare(expression.operator, this.value(expression.left), this.value(expression.right), this.#budget);
      case 'choice': {
        const found = this.#rendering().value(expression.test);
        const isTrue = !(found instanceof Missing) && isFilled(found);
        const branch = isTrue === expression.isNegated ? expression.otherwise : expression.whenTrue;
        return branch === null ? '' : this.value(branch);
      }
      default:
        return this.#operand(expression);
    }
  }

  #operand(operand: Operand): Value {
    if (operand.kind === 'literal') return operand.value;
    const rendering = this.#rendering();
    if (operand.kind === 'term') return orNull(rendering.value(operand.term));
    const { nodes } = operand.template;
    const [node] = nodes;
    if (nodes.length === 1 && node?.kind === 'value') {
      const value = orNull(rendering.value(node.term));
      return value === null ? null : this.#budget.textOf(value);
    }
    const text = rendering.text(nodes);
    const isBlock = nodes.length === 1 && node?.kind !== 'text';
    return isBlock ? (numberIn(text) ?? text.trim()) : text;
  }
}

const orNull = (found: Value | Missing): Value => (found instanceof Missing ? null : found);

/** False, null, 0, '' and 'false' are false; a missing key is null. */
function isTruthy(value: Value): boolean {
  return value !== 'false' && Boolean(value);
}

/**
 * Compares two values. Null equals only null and has no order. Two numbers compare as numbers; so do a number and a
 * numeric text, and, for order, two numeric texts, since commands print text. Everything else compares as text (lists
 * and maps as JSON, true and false as these words) by UTF-16 unit.
 */
function compare(operator: Comparison, left: Value, right: Value, budget: Budget): boolean {
  if (operator === '==') return isEqual(left, right, budget);
  if (operator === '!=') return !isEqual(left, right, budget);
  if (left === null || right === null) return false;
  const [a, b] = asNumbers(left, right) ?? [budget.textOf(left), budget.textOf(right)];
  switch (operator) {
    case '<':
      return a < b;
    case '>':
      return a > b;
    case '<=':
      return a <= b;
    case '>=':
      return a >= b;
  }
}

function asNumbers(left: Value, right: Value): [number, number] | null {
  const a = numberOf(left);
  const b = numberOf(right);
  return a === null || b === null ? null : [a, b];
}

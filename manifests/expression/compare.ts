import type { Budget } from '../template/budget.ts';
import { isEqual, numberOf } from '../template/equal.ts';
import type { Value } from '../template/value.ts';
import type { Comparison } from './tree.ts';

/** False, null, 0, '' and 'false' are not; a missing key is null. */
export function isTruthy(value: Value): boolean {
  return value !== 'false' && Boolean(value);
}

/**
 * Compares two values. Null equals null only and has no order. Two numbers compare as numbers; so do a number and a
 * numeric text, and for order two numeric texts too, since what commands print is text. Everything else compares as text
 * (lists and maps as JSON, true and false as these words) by UTF-16 unit.
 */
export function compare(operator: Comparison, left: Value, right: Value, budget: Budget): boolean {
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

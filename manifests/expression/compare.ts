import type { Budget } from '../template/budget.ts';
import type { Value } from '../template/value.ts';
import type { Comparison } from './tree.ts';

const NUMERIC = /^[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?$/;

/** The number that a text is, white space around it aside; null when it is none. */
export function numberIn(text: string): number | null {
  // Numbers of more digits than this say nothing, and a pattern is not run over megabytes.
  if (text.length > 1_000) return null;
  const trimmed = text.trim();
  return NUMERIC.test(trimmed) ? Number(trimmed) : null;
}

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
  if (left === null || right === null) {
    return operator === '!=' ? left !== right : operator === '==' && left === right;
  }
  const isOrder = operator !== '==' && operator !== '!=';
  const [a, b] = asNumbers(left, right, isOrder) ?? [budget.textOf(left), budget.textOf(right)];
  switch (operator) {
    case '<':
      return a < b;
    case '>':
      return a > b;
    case '<=':
      return a <= b;
    case '>=':
      return a >= b;
    case '==':
      return a === b;
    case '!=':
      return a !== b;
  }
}

function asNumbers(left: Value, right: Value, texts: boolean): [number, number] | null {
  if (!texts && typeof left !== 'number' && typeof right !== 'number') return null;
  const a = numberOf(left);
  const b = numberOf(right);
  return a === null || b === null ? null : [a, b];
}

function numberOf(value: Value): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? numberIn(value) : null;
}

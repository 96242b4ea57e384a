import type { Budget } from './budget.ts';
import type { Value } from './value.ts';

const NUMERIC = /^[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?$/;

/** The number that a text is, white space around it aside; null when it is none. */
export function numberIn(text: string): number | null {
  // Numbers of more digits than this say nothing, and a pattern is not run over megabytes.
  if (text.length > 1_000) return null;
  const trimmed = text.trim();
  return NUMERIC.test(trimmed) ? Number(trimmed) : null;
}

export function numberOf(value: Value): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? numberIn(value) : null;
}

/**
 * `==` of expressions and `eq` of templates. Null equals null only. A number and a numeric text compare as numbers,
 * everything else as text: lists and maps as JSON, true and false as these words.
 */
export function isEqual(left: Value, right: Value, budget: Budget): boolean {
  if (left === null || right === null) return left === right;
  if (typeof left === 'number' || typeof right === 'number') {
    const a = numberOf(left);
    const b = numberOf(right);
    if (a !== null && b !== null) return a === b;
  }
  return budget.textOf(left) === budget.textOf(right);
}

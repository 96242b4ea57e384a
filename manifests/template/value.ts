import type { Budget } from './tree.ts';

/** Plain JSON as templates and expressions read it; the runtime's Json fits. */
export type Value = null | boolean | number | string | readonly Value[] | ValueMap;

export type ValueMap = { readonly [key: string]: Value };

/** What a path that leads nowhere stands for; `written` is the path as the author wrote it. */
export class Missing {
  readonly written: string;

  constructor(written: string) {
    this.written = written;
  }
}

export type Found = Value | Missing;

const INDEX = /^(?:0|[1-9][0-9]{0,9})$/;

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

export function isMap(value: Value): value is ValueMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The member of a value: own keys of maps, indexes and `length` of lists, `length` of text. Never a prototype's. */
export function memberOf(value: Value, key: string): Value | undefined {
  if (typeof value === 'string') return key === 'length' ? value.length : undefined;
  if (isList(value)) {
    if (key === 'length') return value.length;
    return INDEX.test(key) ? value[Number(key)] : undefined;
  }
  if (isMap(value)) return Object.hasOwn(value, key) ? value[key] : undefined;
  return undefined;
}

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

/**
 * Why a template or an expression gives no result. `invalid`: it is none, as its check says. `too_long`: the text is
 * longer than allowed. `too_much_work`: it needs more steps, or handles more text on the way, than allowed.
 */
type TemplateFaultCode = 'invalid' | 'too_long' | 'too_much_work';

export class TemplateError extends Error {
  readonly code: TemplateFaultCode;

  constructor(code: TemplateFaultCode, message: string) {
    super(message);
    this.name = 'TemplateError';
    this.code = code;
  }
}

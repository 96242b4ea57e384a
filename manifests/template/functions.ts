import type { Budget } from './budget.ts';
import { type Found, isList, isMap, Missing, memberOf, type Value } from './value.ts';

/** One function that templates may call (spec 3, Helpers). */
export interface TemplateFunction {
  readonly parameters: readonly string[];
  /** `args` are as many as `parameters`, none missing unless `takesMissing`; `written` is how the author wrote each. */
  apply(args: readonly Value[], written: readonly string[], budget: Budget): Found;
}

/** `default` sees a missing first argument as null; it and empty text give the fallback, false and 0 do not. */
export const DEFAULT = 'default';

const text = (change: (text: string) => string): TemplateFunction => ({
  parameters: ['text'],
  apply([value = null], _written, budget) {
    const before = budget.textOf(value);
    budget.working(before.length);
    return change(before);
  },
});

export const FUNCTIONS: ReadonlyMap<string, TemplateFunction> = new Map<string, TemplateFunction>([
  ['length', { parameters: ['array'], apply: ([value = null], _written, budget) => lengthOf(value, budget) }],
  ['upper', text((before) => before.toUpperCase())],
  ['lower', text((before) => before.toLowerCase())],
  ['trim', text((before) => before.trim())],
  ['json', { parameters: ['object'], apply: ([value = null], _written, budget) => budget.jsonOf(value) }],
  ['first_line', { parameters: ['text'], apply: ([value = null], _written, budget) => firstLine(value, budget) }],
  [
    DEFAULT,
    {
      parameters: ['value', 'fallback'],
      apply: ([value = null, fallback = null]) => (value === null || value === '' ? fallback : value),
    },
  ],
  [
    'lookup',
    {
      parameters: ['object', 'key'],
      apply([object = null, key = null], written, budget) {
        const name = budget.textOf(key);
        return memberOf(object, name) ?? new Missing(`${written[0] ?? ''}.${name.slice(0, 200)}`);
      },
    },
  ],
]);

/** Items of a list, members of a map, characters of a text; anything else has none. */
function lengthOf(value: Value, budget: Budget): number {
  if (typeof value === 'string' || isList(value)) return value.length;
  if (!isMap(value)) return 0;
  const { length } = Object.keys(value);
  budget.keys(length);
  return length;
}

function firstLine(value: Value, budget: Budget): string {
  const whole = budget.textOf(value);
  const end = whole.indexOf('\n');
  budget.working(end === -1 ? whole.length : end);
  const line = end === -1 ? whole : whole.slice(0, end);
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

import {
  type Budget,
  type Found,
  isEqual,
  isList,
  isMap,
  Missing,
  memberOf,
  numberIn,
  TemplateError,
  type Value,
} from './tree.ts';

/** A function that templates may call (W17). */
interface TemplateFunction {
  readonly parameters: readonly string[];
  /**
   * Whether a missing argument is passed as null; otherwise the whole call counts as missing. `before`: the arguments before
   * it.
   */
  missingIsNull?(before: readonly Value[]): boolean;
  /** `args` are as many as `parameters`; `written` is each as the author wrote it. Throws TemplateError `invalid`. */
  apply(args: readonly Value[], written: readonly string[], budget: Budget): Found;
}

/** The fallback replaces null (a missing value) and empty text, not false and 0. */
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
      missingIsNull: ([value]) => value === undefined || !isAbsent(value),
      apply: ([value = null, fallback = null]) => (isAbsent(value) ? fallback : value),
    },
  ],
  [
    'eq',
    {
      parameters: ['value', 'other'],
      missingIsNull: () => true,
      apply([value = null, other = null], _written, budget) {
        if (typeof value === 'string' && typeof other === 'string' && value.length === other.length)
          budget.working(value.length);
        return isEqual(value, other, budget);
      },
    },
  ],
  ['add', { parameters: ['number', 'number'], apply: sum }],
  ['parseJson', { parameters: ['text'], apply: parsed }],
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

const isAbsent = (value: Value) => value === null || value === '';

/** Accepts numbers and numeric texts, since commands and the blackboard's built-ins write texts. */
function sum(args: readonly Value[], written: readonly string[]): number {
  let total = 0;
  for (const [index, value] of args.entries()) {
    const number = typeof value === 'string' ? numberIn(value) : value;
    if (typeof number !== 'number') {
      throw new TemplateError('invalid', `add takes numbers, ${nameOf(written, index)} is ${shown(value)}`);
    }
    total += number;
  }
  if (!Number.isFinite(total)) throw new TemplateError('invalid', 'add: the sum is no finite number');
  return total;
}

/** The value of a JSON text. Counted twice: as text, and as the values parsed from it. */
function parsed([value = null]: readonly Value[], written: readonly string[], budget: Budget): Value {
  if (typeof value !== 'string') {
    throw new TemplateError('invalid', `parseJson takes text, ${nameOf(written, 0)} is ${shown(value)}`);
  }
  budget.working(2 * value.length);
  try {
    const made: Value = JSON.parse(value);
    return made;
  } catch (thrown) {
    // The parser's message differs between versions of Node.
    if (!(thrown instanceof SyntaxError)) throw thrown;
    throw new TemplateError('invalid', `parseJson takes JSON, ${nameOf(written, 0)} is ${shown(value)}`);
  }
}

const nameOf = (written: readonly string[], index: number) => (written[index] ?? '').slice(0, 80);

/** A value in an error: its kind, and the beginning of a text. */
function shown(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `the text ${JSON.stringify(value.slice(0, 40))}${value.length > 40 ? '…' : ''}`;
  if (typeof value !== 'object') return String(value);
  return isList(value) ? 'a list' : 'a map';
}

/** Number of items of a list, members of a map, characters of a text; other values have no length. */
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

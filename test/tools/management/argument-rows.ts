import { MANAGEMENT_ARGUMENTS } from './argument-table.ts';
import { contractOf, inputOf, type Schema } from './published.ts';
import type { Args } from './setting.ts';

/** A call whose arguments break a rule, or are exactly at its limit. */
export interface ArgumentRow {
  readonly tool: string;
  readonly argument: string;
  readonly rule: string;
  readonly args: Args;
  /** False: the arguments are accepted. The row does not say what the tool then answers. */
  readonly isRefused: boolean;
}

type Value = readonly [rule: string, value: unknown];

const OF_TYPE: Readonly<Record<string, unknown>> = {
  ...{ string: 'text', number: 0.5, boolean: true, object: {}, array: [] },
};

/** Values that are not of the schema's type. */
const wrongTypes = ({ type }: Schema): Value[] =>
  (type === undefined ? [] : Object.entries(OF_TYPE))
    .filter(([name]) => name !== type && !(name === 'number' && type === 'integer'))
    .map(([name, value]) => [`a ${name} instead of ${type}`, value]);

const CANDIDATES = ['', '\0', 'no-such-value', '-'];

/** Values of the type that break one of the schema's rules. */
function outside(schema: Schema): Value[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern, items } = schema;
  const step = schema.type === 'integer' ? 1 : 0.001;
  const misfit = pattern === undefined ? undefined : CANDIDATES.find((text) => !new RegExp(pattern, 'u').test(text));
  const ofItem = items === undefined ? [] : [...wrongTypes(items), ...outside(items)];
  const values = schema.additionalProperties;
  const ofValue = typeof values === 'object' ? [...wrongTypes(values), ...outside(values)] : [];
  return [
    ...(schema.enum === undefined ? [] : [['not one of the list', 'no-such-value'] as const]),
    ...(minimum === undefined ? [] : [[`below ${minimum}`, minimum - step] as const]),
    ...(maximum === undefined ? [] : [[`above ${maximum}`, maximum + Math.max(step, 1)] as const]),
    ...(schema.type === 'integer' ? [['not whole', (minimum ?? 0) + 0.5] as const] : []),
    ...(minLength === undefined ? [] : [[`shorter than ${minLength}`, 'x'.repeat(minLength - 1)] as const]),
    ...(maxLength === undefined ? [] : [[`longer than ${maxLength}`, 'x'.repeat(maxLength + 1)] as const]),
    ...(misfit === undefined ? [] : [['not of the pattern', misfit] as const]),
    ...(minItems === undefined ? [] : [[`fewer than ${minItems}`, ['x'].slice(0, minItems - 1)] as const]),
    ...(maxItems === undefined
      ? []
      : [[`more than ${maxItems}`, Array.from({ length: maxItems + 1 }, () => 'x')] as const]),
    ...ofItem.map(([rule, value]): Value => [`of an item: ${rule}`, [value]]),
    ...ofValue.map(([rule, value]): Value => [`of a member: ${rule}`, { member: value }]),
  ];
}

/** Half a surrogate pair, which is no text, alone or inside. */
function brokenTexts({ type }: Schema): Value[] {
  const text = 'a\ud800';
  const values = { string: [text], array: [[text]], object: [{ [text]: 1 }, { a: [text] }] }[String(type)] ?? [];
  return values.map((value) => ['a lone surrogate', value]);
}

/** Values at the limits of the schema, and its default given explicitly. Null is absent. */
function atTheEdge(schema: Schema): Value[] {
  const { minimum, maximum, minLength, maxLength } = schema;
  const isPlain = schema.pattern === undefined && schema.enum === undefined && schema.format === undefined;
  return [
    ...(schema.enum ?? []).map((name): Value => [name, name]),
    ...(minimum === undefined ? [] : [[`${minimum}`, minimum] as const]),
    ...(maximum === undefined ? [] : [[`${maximum}`, maximum] as const]),
    ...(isPlain && minLength !== undefined ? [[`${minLength} characters`, 'x'.repeat(minLength)] as const] : []),
    ...(isPlain && maxLength !== undefined ? [[`${maxLength} characters`, 'x'.repeat(maxLength)] as const] : []),
    ...(schema.default === undefined ? [] : [['its default', schema.default] as const]),
  ];
}

const without = (given: Args, argument: string): Args =>
  Object.fromEntries(Object.entries(given).filter(([key]) => key !== argument));

function rowsOf(tool: string): ArgumentRow[] {
  const { right = {}, wrong = {} } = MANAGEMENT_ARGUMENTS[tool] ?? {};
  const { properties = {}, required = [] } = inputOf(contractOf(tool));
  const refused = (argument: string, rule: string, args: Args): ArgumentRow => ({
    ...{ tool, argument, rule, args, isRefused: true },
  });
  const rows = Object.entries(properties).flatMap(([argument, schema]) => {
    const bad = (values: readonly Value[]) =>
      values.map(([rule, value]) => refused(argument, rule, { ...right, [argument]: value }));
    const taken = (values: readonly Value[]): ArgumentRow[] =>
      values.map(([rule, value]) => ({
        ...refused(argument, rule, { ...right, [argument]: value }),
        isRefused: false,
      }));
    const isNeeded = required.includes(argument);
    return [
      ...(isNeeded ? [refused(argument, 'missing', without(right, argument))] : []),
      ...(isNeeded ? bad([['null', null]]) : taken([['null', null]])),
      ...bad(wrongTypes(schema)),
      ...bad(outside(schema)),
      ...bad(brokenTexts(schema)),
      // Rules that a JSON Schema cannot express.
      ...bad((wrong[argument] ?? []).map((value) => ['also wrong', value])),
      ...taken(atTheEdge(schema)),
    ];
  });
  return [...rows, refused('no_such_argument', 'unknown', { ...right, no_such_argument: 1 })];
}

/** Once each: two rules may be broken by one value. */
function once(rows: readonly ArgumentRow[]): ArgumentRow[] {
  const seen = new Set<string>();
  return rows.filter(({ tool, args }) => {
    const key = JSON.stringify([tool, args]);
    return !seen.has(key) && seen.add(key);
  });
}

/** A row for each rule of each argument of each tool svc.*: made of its published schema, and of the table of the rest. */
export const ARGUMENT_ROWS: readonly ArgumentRow[] = once(Object.keys(MANAGEMENT_ARGUMENTS).flatMap(rowsOf));

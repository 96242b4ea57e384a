import { createRequire } from 'node:module';
import type { Ajv, ErrorObject, KeywordDefinition, Options, ValidateFunction } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { linearRegex } from '../re2.ts';
import { ajvFor } from './drafts.ts';

/** Longer strings fit no format, because the expressions of some formats are not linear. */
const FORMAT_CHARS = 4_096;

const MAX_COMPILED = 64;

/** Compiled schemas by text; a cache of a pure function, so replay is unaffected. */
const compiled = new Map<string, ValidateFunction>();

/** One misfit of a value. `path` is a JSON Pointer, empty for the value as a whole. */
export interface Misfit {
  readonly path: string;
  readonly message: string;
}

type Fit =
  | { readonly ok: true }
  | { readonly ok: false; readonly misfits: readonly Misfit[] }
  /** The schema exceeds the work limit of a check. */
  | { readonly ok: false; readonly endless: string };

/**
 * Checks a value against a schema (draft 2020-12, or draft-07 by `$schema`). Patterns run on RE2 and the number of
 * steps is bounded, so neither schema nor value can block a turn or a request. Throws when the schema does not compile.
 */
export function fitSchema(schema: JsonObject, value: Json, { allErrors }: { readonly allErrors: boolean }): Fit {
  const validate = compileSchema(schema, allErrors);
  try {
    return countSteps(() => validate(value))
      ? { ok: true }
      : { ok: false, misfits: (validate.errors ?? []).map(misfitOf) };
  } catch (thrown) {
    if (thrown instanceof StepsExceeded) return { ok: false, endless: thrown.message };
    if (thrown instanceof RangeError) return { ok: false, endless: 'the schema refers to itself without end' };
    throw thrown;
  }
}

function misfitOf({ instancePath, keyword, message, params }: ErrorObject): Misfit {
  const extra = keyword === 'additionalProperties' ? ` (${String(params.additionalProperty)})` : '';
  return { path: instancePath, message: `${message ?? 'is wrong'}${extra}` };
}

/** Throws when the schema does not compile. */
export function compileSchema(schema: JsonObject, allErrors: boolean): ValidateFunction {
  const key = `${allErrors ? 'all' : 'first'} ${JSON.stringify(schema)}`;
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const validate = validatorFor(schema, allErrors).compile(withSteps(schema));
  if (compiled.size >= MAX_COMPILED) compiled.clear();
  compiled.set(key, validate);
  return validate;
}

const load = createRequire(import.meta.url);

function validatorFor(schema: JsonObject, allErrors: boolean): Ajv | Ajv2020 {
  const formats: typeof import('ajv-formats') = load('ajv-formats');
  const regExp = Object.assign((pattern: string) => linearRegex(pattern), { code: 'linearRegex' });
  const options: Options = { strict: false, allErrors, logger: false, inlineRefs: false, code: { regExp } };
  const old = typeof schema.$schema === 'string' && schema.$schema.includes('draft-07');
  const ajv = ajvFor(old ? 'draft-07' : '2020-12', options);
  formats.default(ajv);
  for (const name of Object.keys(ajv.formats)) boundFormat(ajv, name);
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({ keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', validate: uniqueItems });
  ajv.addKeyword(stepKeyword);
  return ajv;
}

function boundFormat(ajv: Ajv | Ajv2020, name: string): void {
  const format = ajv.formats[name];
  const test = formatTest(format);
  if (test !== null) ajv.addFormat(name, (text: string) => text.length <= FORMAT_CHARS && test(text));
}

type Format = Ajv['formats'][string];

function formatTest(format: Format): ((text: string) => boolean) | null {
  if (format instanceof RegExp) return (text) => format.test(text);
  if (typeof format === 'function') return (text) => format(text) === true;
  if (typeof format !== 'object' || format.async === true) return null;
  const { validate } = format;
  if (validate instanceof RegExp) return (text) => validate.test(text);
  if (typeof validate !== 'function' || format.type === 'number') return null;
  return (text) => Reflect.apply(validate, undefined, [text]) === true;
}

/**
 * Bounds the work of one check. Without references the work is at most schema size times data size; a schema that
 * refers to itself in two branches doubles it with each level, so each followed reference counts a step.
 */
const MAX_STEPS = 200_000;

const KEYWORD = 'svc-step';

class StepsExceeded extends Error {
  override readonly name = 'StepsExceeded';
  constructor() {
    super(`the schema follows more than ${MAX_STEPS} references for this value`);
  }
}

/** Steps left in the running check; checks are synchronous, so there is only one. */
let left = 0;

function countSteps<T>(check: () => T): T {
  left = MAX_STEPS;
  return check();
}

const stepKeyword: KeywordDefinition = {
  keyword: KEYWORD,
  schemaType: 'boolean',
  before: '$ref',
  validate: () => {
    left -= 1;
    if (left < 0) throw new StepsExceeded();
    return true;
  },
};

const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']);

const DATA = new Set(['enum', 'const', 'default', 'examples']);

/** A copy of the schema in which every object with a reference also counts a step. */
function withSteps(schema: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (DATA.has(key)) copy[key] = value;
    else if (MAPS.has(key) && isJsonObject(value)) copy[key] = mapValues(value);
    else copy[key] = inside(value);
  }
  if (typeof schema.$ref === 'string' || typeof schema.$dynamicRef === 'string') copy[KEYWORD] = true;
  return copy;
}

function mapValues(map: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, inside(value)]));
}

function inside(value: Json): Json {
  if (Array.isArray(value)) return value.map(inside);
  return isJsonObject(value) ? withSteps(value) : value;
}

export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `uniqueItems` in one pass over canonical texts: the built-in keyword compares every pair. */
function uniqueItems(wanted: boolean, items: readonly Json[]): boolean {
  return !wanted || new Set(items.map(canonical)).size === items.length;
}

/** The same text for equal JSON: keys are sorted. The parser bounds the depth. */
function canonical(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`;
}

/** Plain JSON, as documents and outputs hold it. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type JsonObject = { [key: string]: Json };

import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv, type Options } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { linearRegex } from '../linear-regex.ts';
import type { Json, JsonObject } from './json.ts';
import { countSteps, StepsExceeded, stepKeyword, withSteps } from './steps.ts';
import { uniqueItems } from './unique-items.ts';

/** Strings longer than this do not fit any format: some of the formats' expressions are not linear. */
const FORMAT_CHARS = 4_096;
const MAX_COMPILED = 64;

/** Compiled schemas by text; a memo of a pure function, so replay is not touched. */
const compiled = new Map<string, ValidateFunction>();

/** One place where a value does not fit. `path` is a JSON Pointer, empty for the value as a whole. */
export interface Misfit {
  readonly path: string;
  readonly message: string;
}

export type Fit =
  | { readonly ok: true }
  | { readonly ok: false; readonly misfits: readonly Misfit[] }
  /** The schema itself does not let the check end. */
  | { readonly ok: false; readonly endless: string };

/**
 * A value against a schema (draft 2020-12, or draft-07 when `$schema` says so). Patterns run on RE2, and the work is
 * bounded in steps, so neither schema nor value can hold anybody up. Throws when the schema does not compile.
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

function validatorFor(schema: JsonObject, allErrors: boolean): Ajv | Ajv2020 {
  const regExp = Object.assign((pattern: string) => linearRegex(pattern), { code: 'linearRegex' });
  const options: Options = { strict: false, allErrors, logger: false, inlineRefs: false, code: { regExp } };
  const old = typeof schema.$schema === 'string' && schema.$schema.includes('draft-07');
  const ajv = old ? new Ajv(options) : new Ajv2020(options);
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

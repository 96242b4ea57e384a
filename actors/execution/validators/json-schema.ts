import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv, type Options } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { SvcError } from '../../../runtime/errors.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import { parseOutputJson } from './json-text.ts';
import { linearRegex } from './linear-regex.ts';
import { countSteps, StepsExceeded, stepKeyword, withSteps } from './schema-steps.ts';
import { uniqueItems } from './unique-items.ts';
import type { Complaint, IterationResult } from './verdict.ts';

/** Strings longer than this do not fit any format: some of the formats' expressions are not linear. */
const FORMAT_CHARS = 4_096;
/** All errors are collected for texts up to this length, only the first one beyond it. */
const ALL_ERRORS_CHARS = 64 * 1024;
const MAX_SHOWN = 10;
const MAX_COMPILED = 64;

/** Compiled schemas by text; a memo of a pure function, so replay is not touched. */
const compiled = new Map<string, ValidateFunction>();

/**
 * The output as JSON against a schema (draft 2020-12, or draft-07 when `$schema` says so). Patterns run on RE2, and
 * the work is bounded in steps, so neither schema nor output can hold the turn up.
 */
export function checkJson(result: IterationResult, schema: JsonObject): Complaint {
  const parsed = parseOutputJson(result.stdout);
  if (!parsed.ok) return parsed.reason;
  const validate = compile(schema, result.stdout.length <= ALL_ERRORS_CHARS);
  try {
    return countSteps(() => validate(parsed.value)) ? null : describe(validate.errors ?? []);
  } catch (thrown) {
    if (thrown instanceof StepsExceeded) return thrown.message;
    if (thrown instanceof RangeError) return 'the schema refers to itself without end';
    throw thrown;
  }
}

/** Throws `invalid_manifest` naming `path` when the schema does not compile. */
export function checkJsonSchema(schema: JsonObject, path: string): void {
  try {
    compile(schema, false);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.slice(0, 300) : 'does not compile';
    throw new SvcError('invalid_manifest', `${path}: expected a JSON Schema: ${reason}`, {
      field: path,
      details: [{ path, message: reason }],
    });
  }
}

function compile(schema: JsonObject, allErrors: boolean): ValidateFunction {
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

function describe(errors: readonly ErrorObject[]): string {
  const shown = errors.slice(0, MAX_SHOWN).map((error) => {
    const extra: Json = error.keyword === 'additionalProperties' ? ` (${String(error.params.additionalProperty)})` : '';
    return `${error.instancePath === '' ? '/' : error.instancePath} ${error.message ?? 'is wrong'}${extra}`.slice(
      0,
      300,
    );
  });
  const more = errors.length > MAX_SHOWN ? `; and ${errors.length - MAX_SHOWN} more` : '';
  return `the output does not fit the schema: ${shown.join('; ')}${more}`;
}

import { compileSchema, fitSchema, isJsonObject, type Json, type JsonObject } from '../json-schema/fit.ts';
import { pathText } from '../schema-problems.ts';

/** Limit of reported problems. */
const MAX_MISFITS = 50;

/** One problem of an input, in the form of an error detail. `path` is such as `input.users[0].name`. */
interface InputMisfit {
  readonly path: string;
  readonly message: string;
}

/**
 * Checks the caller's input against `metadata.input_schema`; empty when it fits or there is no schema (W3: a payload
 * that does not fit is 422, before anything is created). Compiled schemas are cached, within bounds; patterns run in
 * linear time. Never throws, and never repeats a value of the input.
 */
export function checkInput(schema: JsonObject | undefined, input: Json): readonly InputMisfit[] {
  if (schema === undefined) return [];
  const fault = schemaFault(schema);
  if (fault !== null) return [{ path: 'metadata.input_schema', message: fault }];
  const fit = fitSchema(schema, input, { allErrors: true });
  if (fit.ok) return [];
  if ('endless' in fit) return [{ path: 'metadata.input_schema', message: fit.endless }];
  return fit.misfits.slice(0, MAX_MISFITS).map(({ path, message }) => ({ path: inputPath(path, input), message }));
}

export interface TakenInput {
  /** The input that the run stores: the caller's, with the schema's defaults for missing values. */
  readonly input: Json;
  readonly misfits: readonly InputMisfit[];
}

/**
 * Checks the caller's input as given, then adds the defaults: a default does not satisfy `required`. The result is
 * checked again, since a default may not fit its own schema.
 */
export function takeInput(schema: JsonObject | undefined, given: Json): TakenInput {
  const misfits = checkInput(schema, given);
  if (schema === undefined || misfits.length > 0) return { input: given, misfits };
  const input = withDefaults(schema, given);
  if (input === given) return { input, misfits };
  const wrong = checkInput(schema, input).map(({ path, message }) => ({
    path,
    message: `${message} once the defaults of the schema are filled in`,
  }));
  return { input, misfits: wrong };
}

/**
 * `default` of `properties`, also in nested objects; a missing object is created only by its own default. Items of lists are
 * unchanged, so the result is never longer than the input and the schema together. Defaults in schemas behind `$ref`, `anyOf`
 * and the like are ignored.
 */
function withDefaults(schema: Json | undefined, given: Json): Json {
  if (!isJsonObject(schema) || !isJsonObject(given) || !isJsonObject(schema.properties)) return given;
  const added: [string, Json][] = [];
  for (const [key, property] of Object.entries(schema.properties)) {
    const before = Object.hasOwn(given, key) ? given[key] : defaultOf(property);
    if (before === undefined) continue;
    const after = withDefaults(property, before);
    if (after !== before || !Object.hasOwn(given, key)) added.push([key, after]);
  }
  // Not assigned: `__proto__` is a key like any other.
  return added.length === 0 ? given : Object.fromEntries([...Object.entries(given), ...added]);
}

const defaultOf = (property: Json): Json | undefined =>
  isJsonObject(property) && Object.hasOwn(property, 'default') ? property.default : undefined;

/** Why the schema cannot be compiled, such as a `$ref` to nothing; null when it can. */
export function schemaFault(schema: JsonObject): string | null {
  try {
    compileSchema(schema, true);
    return null;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message.slice(0, 300) : 'it does not compile';
  }
}

/** A JSON Pointer as a readable path: an index only where the input has a list. */
function inputPath(pointer: string, input: Json): string {
  const path: PropertyKey[] = ['input'];
  let at: Json | undefined = input;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(at) ? Number(key) : key);
    at = childOf(at, key);
  }
  return pathText(path);
}

function childOf(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(key)];
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

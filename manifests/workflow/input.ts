import { compileSchema, fitSchema, type Json, type JsonObject } from '../json-schema/fit.ts';
import { pathText } from '../schema-problems.ts';

/** More would only make a large answer. */
const MAX_MISFITS = 50;

/** One place where an input does not fit; has the shape of an error detail. `path` is such as `input.users[0].name`. */
export interface InputMisfit {
  readonly path: string;
  readonly message: string;
}

/**
 * The caller's input against `metadata.input_schema`; empty when it fits or no schema is given
 * (W3: a payload that does not fit is 422, before anything is created). Schemas are compiled once and kept, within bounds;
 * patterns run in linear time. Never throws, and never repeats a value of the input.
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
  /** What the run stores: the caller's, with the schema's defaults where it has nothing. */
  readonly input: Json;
  readonly misfits: readonly InputMisfit[];
}

/**
 * Checks what the caller gave, as it was given, then adds the defaults: one does not stand in for what `required` asks
 * for. The result is checked again, since a default may not fit its own schema.
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
 * `default` of `properties`, in objects inside objects too; an object that is missing is only made by its own default.
 * Items of lists are left as they are, so the result is never longer than the input and the schema together. A schema
 * behind `$ref`, `anyOf` and the like adds nothing.
 */
function withDefaults(schema: Json | undefined, given: Json): Json {
  if (!isMap(schema) || !isMap(given) || !isMap(schema.properties)) return given;
  const added: [string, Json][] = [];
  for (const [key, property] of Object.entries(schema.properties)) {
    const before = Object.hasOwn(given, key) ? given[key] : defaultOf(property);
    if (before === undefined) continue;
    const after = withDefaults(property, before);
    if (after !== before || !Object.hasOwn(given, key)) added.push([key, after]);
  }
  // No assignment: `__proto__` is a key like any other.
  return added.length === 0 ? given : Object.fromEntries([...Object.entries(given), ...added]);
}

const defaultOf = (property: Json): Json | undefined =>
  isMap(property) && Object.hasOwn(property, 'default') ? property.default : undefined;

const isMap = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Why the schema cannot be compiled, such as a `$ref` into nothing; null when it can. */
export function schemaFault(schema: JsonObject): string | null {
  try {
    compileSchema(schema, true);
    return null;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message.slice(0, 300) : 'it does not compile';
  }
}

/** A JSON Pointer as a path a reader knows: an index only where the input has a list. */
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
  return isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

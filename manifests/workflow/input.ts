import { compileSchema, fitSchema } from '../json-schema/fit.ts';
import type { Json, JsonObject } from '../json-schema/json.ts';
import { pathText } from '../problem.ts';

/** More would only make a large answer. */
const MAX_MISFITS = 50;

/** One place where an input does not fit; has the shape of an error detail. `path` is such as `input.users[0].name`. */
export interface InputMisfit {
  readonly path: string;
  readonly message: string;
}

/**
 * The caller's input against `metadata.input_schema`; empty when it fits or no schema is given (spec 3, Input rules: a
 * payload that does not fit is 422, before anything is created). Schemas are compiled once and kept, within bounds;
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
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return value[key];
}

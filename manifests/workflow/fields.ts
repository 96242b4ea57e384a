import { z } from 'zod';

/** Text with Handlebars expressions (spec 3, Template variables). */
export const template = z.string().max(65_536);

/** Environment: values are templates; a number or truth value in YAML is meant as text. */
export const templatedMap = z
  .record(
    z.string().min(1).max(256),
    z.union([template, z.number(), z.boolean()], 'expected text; put it in quotes').transform(String),
  )
  .default({});

export const absolutePath = z
  .string()
  .max(1_024)
  .regex(/^\/[^\0]*$/, 'expected an absolute path')
  .refine((path) => !path.split('/').some((part) => part === '.' || part === '..'), 'expected no "." or ".." parts');

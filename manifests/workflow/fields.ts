import { z } from 'zod';
import { refuse } from '../expectation.ts';

/** Text with Handlebars expressions (W17). */
export const template = z.string().max(65_536);

export const fraction = z.number().min(0).max(1);

/** Names of an object's prototype, which are refused as keys of the blackboard or of outputs. */
const PROTOTYPE_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** A name that becomes a key of the blackboard, of the context or of an output. Spaces, dots and dashes are allowed. */
export const keyName = (maxLength: number) =>
  z
    .string()
    .min(1)
    .max(maxLength)
    .refine((name) => !PROTOTYPE_NAMES.has(name), {
      error: (issue) => `the name ${String(issue.input)} is not allowed here; take another one`,
    });

export const stateName = keyName(128);

/** Text where YAML may have read a number or a boolean: the text as written is used. */
export const scalarText = (maxLength: number) =>
  z
    .union([z.string().max(maxLength), z.number(), z.boolean()], 'expected text; put it in quotes')
    .transform((value) => String(value));

/** Environment: values are templates. */
export const templatedMap = z.record(keyName(256), scalarText(65_536)).default({});

/** `env` of a System state: texts for a shell command, any JSON for a built-in, in which texts are templates. */
export const systemEnv = z
  .record(
    keyName(256),
    z.union(
      [z.string().max(65_536), z.number(), z.boolean(), z.null(), z.array(z.json()), z.record(z.string(), z.json())],
      'expected text or a JSON value',
    ),
  )
  .default({});

/** Files written below the workspace before a step: path -> template of the content. */
export const stepFiles = z
  .record(
    z
      .string()
      .max(1_024)
      .regex(/^[^/\0][^\0]*$/, 'expected a path below the workspace')
      .refine((path) => !path.split('/').some((part) => part === '' || part === '.' || part === '..'), {
        error: 'expected no empty, "." or ".." parts',
      }),
    template,
  )
  .refine((files) => Object.keys(files).length <= 32, { error: 'expected at most 32 files' })
  .optional();

export const absolutePath = z
  .string()
  .max(1_024)
  .regex(/^\/[^\0]*$/, 'expected an absolute path')
  .refine((path) => !path.split('/').some((part) => part === '.' || part === '..'), 'expected no "." or ".." parts');

/**
 * For rules over several fields of one map. They run even when single fields have problems, where zod would skip them, so a
 * rule must not rely on the fields' types.
 */
export const besideProblems = {
  when: ({ value }: { readonly value: unknown }): boolean => typeof value === 'object' && value !== null,
};

/** Each entry's `name` must differ from those before it. */
export function refuseRepeatedNames(entries: readonly { readonly name: string }[], context: z.RefinementCtx): void {
  if (!Array.isArray(entries)) return;
  const seen = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const name: unknown = entry?.name;
    if (typeof name !== 'string') continue;
    if (seen.has(name))
      refuse(context, [index, 'name'], `expected a unique name, got ${JSON.stringify(name.slice(0, 60))} again`);
    seen.add(name);
  }
}

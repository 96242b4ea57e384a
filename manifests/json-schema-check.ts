import { z } from 'zod';
import { ajvFor, DRAFTS, type Draft } from './json-schema/drafts.ts';
import { MAX_PATTERN_SIZE, patternFault, patternSize } from './pattern.ts';

type Json = z.output<ReturnType<typeof z.json>>;

const DEFAULT_DRAFT = 'https://json-schema.org/draft/2020-12/schema';

const OPTIONS = { strict: false, allErrors: false, logger: false, validateSchema: true } as const;

const validators = new Map<Draft, ReturnType<typeof ajvFor>>();

function validatorFor(draft: Draft): ReturnType<typeof ajvFor> {
  const validator = validators.get(draft) ?? ajvFor(draft, OPTIONS);
  validators.set(draft, validator);
  return validator;
}

/** Why an object is not a JSON Schema (draft 2020-12, or draft-07 by `$schema`); null when it is. */
export function jsonSchemaFault(schema: Readonly<Record<string, Json>>): string | null {
  const named = schema.$schema ?? DEFAULT_DRAFT;
  const draft = typeof named === 'string' ? DRAFTS.get(named.replace(/#$/, '')) : undefined;
  if (draft === undefined) return `$schema must be one of ${[...DRAFTS.keys()].join(', ')}`;
  const validator = validatorFor(draft);
  if (validator.validateSchema(schema) !== true) {
    const first = validator.errors?.[0];
    return `${first?.instancePath || '/'} ${first?.message ?? 'is wrong'}`;
  }
  return outsideFault(schema, { left: MAX_PATTERN_SIZE });
}

/**
 * Remote references are never fetched, and patterns run on RE2, so schemas that need anything else are refused. `budget`: total
 * cost of the schema's patterns.
 */
function outsideFault(node: Json, budget: { left: number }): string | null {
  if (node === null || typeof node !== 'object') return null;
  for (const [key, value] of Object.entries(node)) {
    if (key === '$ref' && typeof value === 'string' && !value.startsWith('#'))
      return '$ref must stay inside the schema and start with #';
    for (const pattern of patternsAt(key, value)) {
      budget.left -= patternSize(pattern);
      if (budget.left < 0) return `its patterns have more than ${MAX_PATTERN_SIZE} elements together`;
      const fault = patternFault(pattern);
      if (fault !== null) return `${key} is not RE2 syntax: ${fault}`;
    }
    const inner = outsideFault(value, budget);
    if (inner !== null) return inner;
  }
  return null;
}

function patternsAt(key: string, value: Json): string[] {
  if (key === 'pattern') return typeof value === 'string' ? [value] : [];
  const named = key === 'patternProperties' && typeof value === 'object' && value !== null;
  return named ? Object.keys(value) : [];
}

/** A field that holds a JSON Schema object. */
export const jsonSchema = z.record(z.string(), z.json()).superRefine((schema, context) => {
  const fault = jsonSchemaFault(schema);
  if (fault !== null) context.addIssue({ code: 'custom', message: `expected a JSON Schema: ${fault}` });
});

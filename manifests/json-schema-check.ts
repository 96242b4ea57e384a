import { createRequire } from 'node:module';
import type { Ajv } from 'ajv';
import { z } from 'zod';
import { MAX_PATTERN_SIZE, patternFault, patternSize } from './pattern.ts';

type Json = z.output<ReturnType<typeof z.json>>;

const options = { strict: false, allErrors: false, logger: false, validateSchema: true } as const;
const DRAFT_07 = 'http://json-schema.org/draft-07/schema';
const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema';

const load = createRequire(import.meta.url);

/** Loaded with the first schema: a tenth of the modules of a start, and an idle node checks none. */
const DRAFTS: Readonly<Record<string, () => Pick<Ajv, 'validateSchema' | 'errors'>>> = {
  [DRAFT_07]: once(() => {
    const { Ajv }: typeof import('ajv') = load('ajv');
    return new Ajv(options);
  }),
  [DRAFT_2020]: once(() => {
    const { Ajv2020 }: typeof import('ajv/dist/2020.js') = load('ajv/dist/2020.js');
    return new Ajv2020(options);
  }),
};

function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Why an object is not a JSON Schema (draft 2020-12, or draft-07 by `$schema`); null when it is. */
export function jsonSchemaFault(schema: Readonly<Record<string, Json>>): string | null {
  const named = schema.$schema ?? DRAFT_2020;
  const draft = typeof named === 'string' ? DRAFTS[named.replace(/#$/, '')]?.() : undefined;
  if (draft === undefined) return `$schema must be one of ${Object.keys(DRAFTS).join(', ')}`;
  if (draft.validateSchema(schema) !== true) {
    const first = draft.errors?.[0];
    return `${first?.instancePath || '/'} ${first?.message ?? 'is wrong'}`;
  }
  return outsideFault(schema, { left: MAX_PATTERN_SIZE });
}

/**
 * Remote references are never fetched, and patterns run on RE2, so schemas that need either are refused. `budget`: what
 * all patterns of the schema may cost together.
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

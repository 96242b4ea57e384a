import { createRequire } from 'node:module';
import type { Ajv, Options } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';

export type Draft = 'draft-07' | '2020-12';

/** The drafts of JSON Schema that a schema may name in `$schema`, by their address. */
export const DRAFTS: ReadonlyMap<string, Draft> = new Map([
  ['http://json-schema.org/draft-07/schema', 'draft-07'],
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
]);

const load = createRequire(import.meta.url);

/**
 * Makes the library's validator for a draft. The library is loaded on first use: it is a tenth of the modules of a start, and
 * an idle node checks no schema.
 */
export function ajvFor(draft: Draft, options: Options): Ajv | Ajv2020 {
  if (draft === 'draft-07') {
    const { Ajv }: typeof import('ajv') = load('ajv');
    return new Ajv(options);
  }
  const { Ajv2020 }: typeof import('ajv/dist/2020.js') = load('ajv/dist/2020.js');
  return new Ajv2020(options);
}

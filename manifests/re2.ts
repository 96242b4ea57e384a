import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';

type Engine = typeof import('re2js');

const load = createRequire(import.meta.url);
let engine: Engine | null = null;

/** Compiles on the RE2 engine; throws its error. Loaded with the first pattern: an idle node does not carry it. */
export function compileRe2(pattern: string): RE2JS {
  const loaded: Engine = engine ?? load('re2js');
  engine = loaded;
  return loaded.RE2JS.compile(pattern);
}

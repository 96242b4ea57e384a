import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';

/** Compiled patterns by source; a cache of a pure function, so replay is unaffected. */
const compiled = new Map<string, RE2JS>();

const MAX_COMPILED = 64;

/** A pattern on the RE2 engine: time linear in the input, whatever the pattern (no look-around, no back references). */
export function linearRegex(pattern: string): { test(input: string): boolean } {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const regex = compileRe2(pattern);
  if (compiled.size >= MAX_COMPILED) compiled.clear();
  compiled.set(pattern, regex);
  return regex;
}

const load = createRequire(import.meta.url);

/**
 * Loads a package synchronously on first use, to keep the memory of an idle node low. `name` is the package's name,
 * `Library` the type of its module; a missing package fails each call.
 */
export function lateLibrary<Library>(name: string): () => Library {
  let library: Library | null = null;
  return () => {
    const loaded: Library = library ?? load(name);
    library = loaded;
    return loaded;
  };
}

const engine = lateLibrary<typeof import('re2js')>('re2js');

/** Compiles on the RE2 engine; throws its error. */
export const compileRe2 = (pattern: string): RE2JS => engine().RE2JS.compile(pattern);

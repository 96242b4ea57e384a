import type { RE2JS } from 're2js';
import { compileRe2 } from './re2.ts';

/** Compiled patterns by source; a memo of a pure function, so replay is not touched. */
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

import { SvcError } from '../runtime/errors.ts';
import type { Json } from '../runtime/json.ts';

/** Deepest nesting of JSON that a caller may send. */
export const JSON_DEPTH = 100;

/**
 * Parses JSON that came from outside. Throws `invalid_argument` naming `field` when it is not valid or nested deeper than
 * `maxDepth`. Members named `__proto__` are left out, at any depth. `what` begins the text: "the body".
 */
export function parseJson(text: string, at: { field: string; what: string; maxDepth: number }): Json {
  const { field, what, maxDepth } = at;
  const malformed = (problem: string, cause?: unknown): SvcError =>
    new SvcError('invalid_argument', `${what} ${problem}`, { field, cause });
  if (depthExceeds(text, maxDepth)) throw malformed(`is nested deeper than ${maxDepth} levels`);
  try {
    // The name may be written with escapes; a reviver is slow, so it only runs where the name could be.
    return /__proto__|\\u00/i.test(text) ? JSON.parse(text, dropPrototypes) : JSON.parse(text);
  } catch (error) {
    throw malformed('is not valid JSON', error);
  }
}

/** Valid JSON, so no error; but no value may pose as a prototype, whoever copies it later. */
const dropPrototypes = (name: string, value: Json): Json | undefined => (name === '__proto__' ? undefined : value);

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const isOpening = (char: number): boolean => char === 0x7b || char === 0x5b;
const isClosing = (char: number): boolean => char === 0x7d || char === 0x5d;

/** Counts brackets outside of strings, so that nothing deep is ever built or walked. */
function depthExceeds(text: string, maxDepth: number): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i += 1) {
    const char = text.charCodeAt(i);
    if (inString) {
      if (char === BACKSLASH) i += 1;
      else if (char === QUOTE) inString = false;
    } else if (char === QUOTE) inString = true;
    else if (isOpening(char)) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (isClosing(char)) depth -= 1;
  }
  return false;
}

import { endOfString } from './json-measure.ts';

const QUOTE = 0x22;

const BACKSLASH = 0x5c;

const COLON = 0x3a;

const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/**
 * Finds the text of a member of a JSON object in its bytes without parsing them, so that a token can be checked before
 * the rest of a body. Undefined when the member is missing, or when its name or text has escapes, which writers of
 * tokens never use.
 */
export function textMember(json: Uint8Array, name: string): string | undefined {
  const wanted = Buffer.from(`"${name}"`);
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1;
    else if (byte === QUOTE) {
      const end = endOfString(json, at);
      const value = depth === 1 ? valueBehind(json, end) : -1;
      if (value !== -1 && wanted.equals(json.subarray(at, end + 1))) return textAt(json, value);
      at = end;
    }
  }
  return undefined;
}

/** Index of the value after the name that ends at `end`; -1 when that string is not a name. */
function valueBehind(json: Uint8Array, end: number): number {
  let at = end + 1;
  while (isSpace(json[at])) at += 1;
  if (json[at] !== COLON) return -1;
  at += 1;
  while (isSpace(json[at])) at += 1;
  return at;
}

function textAt(json: Uint8Array, at: number): string | undefined {
  if (json[at] !== QUOTE) return undefined;
  const text = json.subarray(at + 1, endOfString(json, at));
  return text.includes(BACKSLASH) ? undefined : Buffer.from(text).toString('latin1');
}

import { isJsonObject, type Json, type JsonObject } from '../../runtime/json.ts';

/** Deeper JSON is taken as text: nothing behind may recurse into it without end. */
const MAX_DEPTH = 100;

export interface Content {
  readonly content: string;
  readonly content_encoding?: 'base64' | undefined;
  /** Lower-case names; none that carries a secret. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Input of the workflow (H23): the content when it is a JSON object, else `{content}`. */
export function workflowInput({ content, content_encoding }: Omit<Content, 'headers'>): JsonObject {
  if (content_encoding !== undefined) return { content, content_encoding };
  return objectOf(content) ?? { content };
}

function objectOf(text: string): JsonObject | null {
  // Cheap, and spares a long text that is none.
  if (!/^\s*\{/.test(text)) return null;
  try {
    const value: Json = JSON.parse(text);
    return isJsonObject(value) && isTame(value, MAX_DEPTH) ? value : null;
  } catch {
    // Text that is no JSON, or too deep for the parser, is text.
    return null;
  }
}

/**
 * Whether the value has at most this number of levels. No part of it may pose as a prototype when it is copied later: members of that
 * name are removed. A walk behind the parser takes a twentieth of the time of a reviver, which is called for every value.
 */
function isTame(value: Json, levels: number): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (levels === 0) return false;
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__');
  const inner = Array.isArray(value) ? value : Object.values(value);
  return inner.every((one) => isTame(one, levels - 1));
}

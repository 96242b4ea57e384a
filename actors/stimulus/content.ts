import type { Json, JsonObject } from '../../runtime/json.ts';

/** Deeper JSON is taken as text: nothing behind may recurse into it without end. */
const MAX_DEPTH = 100;

export interface Content {
  readonly content: string;
  readonly content_encoding?: 'base64' | undefined;
  /** Lower-case names; none that carries a secret. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Input of the workflow (decided.md "Stimuli"): the content when it is a JSON object, else `{content}`. */
export function workflowInput({ content, content_encoding }: Omit<Content, 'headers'>): JsonObject {
  if (content_encoding !== undefined) return { content, content_encoding };
  return objectOf(content) ?? { content };
}

function objectOf(text: string): JsonObject | null {
  // Cheap, and spares a long text that is none.
  if (!/^\s*\{/.test(text)) return null;
  try {
    const value: Json = JSON.parse(text, withoutPrototypes);
    return isObject(value) && depthFits(value, MAX_DEPTH) ? value : null;
  } catch {
    // Text that is no JSON, or too deep for the parser, is text.
    return null;
  }
}

/** No value may pose as a prototype, whoever copies it later. */
const withoutPrototypes = (name: string, value: Json): Json | undefined => (name === '__proto__' ? undefined : value);

const isObject = (value: Json): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

function depthFits(value: Json, left: number): boolean {
  if (value === null || typeof value !== 'object') return true;
  return left > 0 && Object.values(value).every((inner) => depthFits(inner, left - 1));
}

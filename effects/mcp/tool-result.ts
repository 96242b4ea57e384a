import { z } from 'zod';
import type { Json, JsonObject } from '../../runtime/json.ts';
import { jsonObjectField } from '../../runtime/json-field.ts';

/** Answer to `tools/call`, as far as it is looked at: MCP adds kinds of content, and they are passed on. */
export const CallResult = z.object({
  content: z.array(jsonObjectField).max(10_000).default([]),
  structuredContent: jsonObjectField.optional(),
  isError: z.boolean().default(false),
});

export interface McpCallResult {
  readonly content: readonly JsonObject[];
  readonly structured?: JsonObject;
  readonly isError: boolean;
}

/** Deeper results are no results: whoever walks them next would run out of stack. */
const DEPTH = 100;

/** The result without the server's own secrets. Null: nested deeper than a result may be. */
export function resultOf(
  { content, structuredContent, isError }: z.output<typeof CallResult>,
  clean: (text: string) => string,
): McpCallResult | null {
  try {
    return {
      content: content.map((item) => cleanObject(item, clean, DEPTH)),
      ...(structuredContent === undefined ? {} : { structured: cleanObject(structuredContent, clean, DEPTH) }),
      isError,
    };
  } catch (error) {
    if (error instanceof TooDeep) return null;
    throw error;
  }
}

class TooDeep extends Error {}

function cleanObject(value: JsonObject, clean: (text: string) => string, levels: number): JsonObject {
  if (levels === 0) throw new TooDeep();
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cleanJson(inner, clean, levels - 1)]));
}

function cleanJson(value: Json, clean: (text: string) => string, levels: number): Json {
  if (typeof value === 'string') return clean(value);
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value)) return cleanObject(value, clean, levels);
  if (levels === 0) throw new TooDeep();
  return value.map((inner) => cleanJson(inner, clean, levels - 1));
}

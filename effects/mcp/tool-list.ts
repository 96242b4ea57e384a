import { z } from 'zod';
import { type Json, type JsonObject, jsonObjectField } from '../../runtime/json.ts';
import type { McpTool } from '../../usecases/ports/mcp-servers.ts';
import type { McpLimits, McpServerSettings } from './limits.ts';

/** One page of `tools/list`. Tools are validated one by one, so that an invalid one does not hide the others. */
export const ToolPage = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

const Listed = z.object({
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: jsonObjectField,
  annotations: z.object({ readOnlyHint: z.boolean().optional(), idempotentHint: z.boolean().optional() }).optional(),
  execution: z.object({ taskSupport: z.string().optional() }).optional(),
});

/** Characters of a tool name `SERVER.TOOL` that models accept. */
const NAME = /^[A-Za-z0-9_.-]+$/;

const NAME_CHARS = 64;

/**
 * Converts the list of a server to tools of this node: those that the operator named, or all. Calls `refuse` with the reason
 * for each tool that cannot be offered.
 */
export function toolsOf(
  listed: readonly unknown[],
  settings: McpServerSettings,
  limits: McpLimits,
  refuse: (tool: string, why: string) => void,
): readonly McpTool[] {
  const { name: server, capabilities } = settings;
  const named = new Map(capabilities.map(({ name, skip_judge }) => [name, skip_judge]));
  const tools = new Map<string, McpTool>();
  for (const one of listed) {
    const parsed = Listed.safeParse(one);
    if (!parsed.success) {
      refuse(shownName(one), `its description is invalid: ${parsed.error.issues[0]?.path.join('.') ?? ''}`);
      continue;
    }
    const { name, title, description, inputSchema, annotations = {}, execution } = parsed.data;
    if (named.size > 0 && !named.has(name)) continue;
    const why = fault(`${server}.${name}`, inputSchema, limits) ?? (tools.has(name) ? 'it is listed twice' : null);
    if (why !== null) refuse(shownName(one), why);
    else if (execution?.taskSupport === 'required') refuse(name, 'it requires tasks, which are not supported');
    else if (tools.size >= limits.tools) refuse(name, `a server may have ${limits.tools} tools`);
    else {
      const reads = annotations.readOnlyHint === true;
      tools.set(name, {
        server,
        tool: name,
        inputSchema,
        reads,
        description: (description ?? title ?? '').slice(0, limits.descriptionChars),
        skipJudge: named.get(name) ?? false,
        repeatable: reads || annotations.idempotentHint === true,
      });
    }
  }
  return [...tools.values()];
}

function fault(name: string, schema: JsonObject, limits: McpLimits): string | null {
  if (!NAME.test(name)) return 'its name has other characters than letters, digits, _ . and -';
  if (name.length > NAME_CHARS) return `its name with the server's is longer than ${NAME_CHARS} characters`;
  if (schema.type !== 'object') return 'its input schema is not of type object';
  // The depth is checked first, because JSON.stringify recurses.
  if (isDeeper(schema, limits.schemaDepth))
    return `its input schema is nested deeper than ${limits.schemaDepth} levels`;
  if (Buffer.byteLength(JSON.stringify(schema)) > limits.schemaBytes) {
    return `its input schema is larger than ${limits.schemaBytes} bytes`;
  }
  return null;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** A name shortened for the log. */
function shownName(tool: unknown): string {
  const { data } = z.object({ name: z.string() }).safeParse(tool);
  return JSON.stringify(data?.name.slice(0, 100) ?? null);
}

/** The validated part of the answer to `tools/call`. New kinds of content are passed on. */
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

/** Deeper results are refused: code that walks them would overflow the stack. */
const MAX_DEPTH = 100;

/** The result without the server's secrets. Null if it is nested too deep. */
export function resultOf(
  { content, structuredContent, isError }: z.output<typeof CallResult>,
  clean: (text: string) => string,
): McpCallResult | null {
  try {
    return {
      content: content.map((item) => cleanObject(item, clean, MAX_DEPTH)),
      ...(structuredContent === undefined ? {} : { structured: cleanObject(structuredContent, clean, MAX_DEPTH) }),
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

import { z } from 'zod';
import { type Json, type JsonObject, jsonObjectField } from '../../runtime/json.ts';
import type { McpTool } from '../../usecases/ports/mcp-servers.ts';
import type { McpLimits, McpServerSettings } from './limits.ts';

/** One page of `tools/list`. Each tool is looked at by itself, so that a bad one does not take the others away. */
export const ToolPage = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

const Listed = z.object({
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: jsonObjectField,
  annotations: z.object({ readOnlyHint: z.boolean().optional(), idempotentHint: z.boolean().optional() }).optional(),
  execution: z.object({ taskSupport: z.string().optional() }).optional(),
});

/** What a model's input takes as the name of a tool: `SERVER.TOOL`. */
const NAME = /^[A-Za-z0-9_.-]+$/;

const NAME_CHARS = 64;

/**
 * What a server lists as tools of this node: those the operator named, or all. `refuse` is told of each that cannot be
 * offered, and why.
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
      refuse(shownName(one), `it is described wrongly: ${parsed.error.issues[0]?.path.join('.') ?? ''}`);
      continue;
    }
    const { name, title, description, inputSchema, annotations = {}, execution } = parsed.data;
    if (named.size > 0 && !named.has(name)) continue;
    const why = fault(`${server}.${name}`, inputSchema, limits) ?? (tools.has(name) ? 'it is listed twice' : null);
    if (why !== null) refuse(shownName(one), why);
    else if (execution?.taskSupport === 'required') refuse(name, 'it works as a task only, which is not supported');
    else if (tools.size >= limits.tools) refuse(name, `a server may have ${limits.tools} tools`);
    else {
      const reads = annotations.readOnlyHint === true;
      tools.set(name, {
        ...{ server, tool: name, inputSchema, reads },
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
  // Depth first: writing it out as text goes as deep as it does.
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

/** A name as it may be logged. */
function shownName(tool: unknown): string {
  const { data } = z.object({ name: z.string() }).safeParse(tool);
  return JSON.stringify(data?.name.slice(0, 100) ?? null);
}

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

/** The official SDK, loaded with the first server: a node without servers does not pay for it. */
export async function loadSdk() {
  const [client, http, stdio, types] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    import('@modelcontextprotocol/sdk/shared/stdio.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  return {
    Client: client.Client,
    StreamableHTTPClientTransport: http.StreamableHTTPClientTransport,
    StreamableHTTPError: http.StreamableHTTPError,
    ReadBuffer: stdio.ReadBuffer,
    serializeMessage: stdio.serializeMessage,
    McpError: types.McpError,
    EmptyResultSchema: types.EmptyResultSchema,
    ToolListChangedNotificationSchema: types.ToolListChangedNotificationSchema,
  };
}

export type McpSdk = Awaited<ReturnType<typeof loadSdk>>;

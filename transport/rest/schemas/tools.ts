import { z } from 'zod';
import { TOOL_NAME_CHARS } from '../../caller-tools/call.ts';
import { flagField } from './catalog.ts';
import { problemSchemas } from './problems.ts';

export const ToolParams = z.object({
  name: z.string().min(1).max(TOOL_NAME_CHARS).describe('Such as svc.agent.list.'),
});

export const ToolsQuery = z.object({
  query: z.string().max(1_000).optional().describe('A part of the name or the description.'),
  schemas: flagField.describe('Also the JSON Schema of the arguments; without a value it is true.'),
});

/** A tool as svc.tools.list tells it (spec 3). */
export const OfferedTool = z.object({
  name: z.string(),
  description: z.string(),
  source: z.enum(['builtin', 'mcp']),
  skip_judge: z.boolean(),
  input_schema: z.looseObject({}).describe('JSON Schema of its arguments.'),
});

export const ToolList = z.object({
  tool: z.enum(['svc.tools.list', 'svc.tools.search']),
  tools: z.array(OfferedTool.partial({ input_schema: true })),
  total: z.number().int(),
});

export const ToolArguments = z.looseObject({}).nullish().describe('The arguments of the tool; absent for none.');

/** MCP tool result. */
export const ToolResult = z.object({
  content: z.array(z.looseObject({})),
  structuredContent: z.looseObject({}).optional(),
  isError: z.boolean(),
});

/** Denials say which rule it was: `reason`. */
export const callProblems = problemSchemas({ style: 'coded', hasBody: true, also: [409, 422] });

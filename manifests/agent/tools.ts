import { z } from 'zod';
import { expectation } from '../expectation.ts';

const NAME = /^[A-Za-z0-9_*][A-Za-z0-9_.*-]{0,127}$/;
const MCP = /^mcp:[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;
const names = z.array(z.string().min(1).max(200)).max(200);
const count = z.number().int().min(1);

/** Configuration of the tools the original documents (original-facts 2.9); other servers take any object. */
const CONFIGS: Readonly<Record<string, z.ZodType<Record<string, z.core.util.JSONType>>>> = {
  'builtin:cmd': z.strictObject({
    /** Command → allowed first arguments; an empty list allows any. */
    subcommand_allowlist: z.record(z.string().min(1).max(200), names),
    env_var_denylist: names.default([]),
    timeout_ceiling_secs: count.max(3_600).default(300),
    max_output_bytes: count.max(16 * 1024 * 1024).default(524_288),
  }),
  'mcp:filesystem': z.strictObject({
    allowed_paths: z.array(z.string().regex(/^\//, 'expected an absolute path')).max(100).default(['/workspace']),
    access_mode: z.enum(['read-only', 'read-write']).default('read-only'),
    max_file_size_bytes: count.default(10_485_760),
  }),
  'mcp:web-search': z.strictObject({
    allowed_domains: names.default([]),
    max_results_per_query: count.max(100).default(10),
    max_calls_per_execution: count.max(10_000).default(50),
  }),
};

const ToolObject = z
  .strictObject({
    name: z.string().regex(NAME, 'expected a tool name or pattern such as fs.read or fs.*'),
    server: z.string().regex(MCP, 'expected mcp:NAME').optional(),
    executor: z.literal('builtin:cmd').optional(),
    config: z.record(z.string(), z.json()).default({}),
  })
  .superRefine((tool, context) => {
    if (tool.server !== undefined && tool.executor !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['executor'],
        message: 'server excludes executor: keep one of the two',
      });
  })
  .transform((tool, context) => {
    const schema = CONFIGS[tool.executor ?? tool.server ?? ''];
    if (schema === undefined) return tool;
    const parsed = schema.safeParse(tool.config, { reportInput: true, error: expectation });
    if (parsed.success) return { ...tool, config: parsed.data };
    for (const issue of parsed.error.issues) context.addIssue({ ...issue, path: ['config', ...issue.path] });
    return z.NEVER;
  });

const ToolName = z
  .string()
  .refine((text) => NAME.test(text) || MCP.test(text), {
    error: 'expected a tool name or pattern such as fs.read, or mcp:NAME',
    params: { show: true },
  })
  .transform(
    (text): z.output<typeof ToolObject> =>
      MCP.test(text) ? { name: text.slice('mcp:'.length), server: text, config: {} } : { name: text, config: {} },
  );

/** `spec.tools[]`: names, patterns or objects; one object each after parsing. */
export const AgentTools = z
  .array(z.union([ToolName, ToolObject]))
  .max(200)
  .prefault([]);

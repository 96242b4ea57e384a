import { isIP } from 'node:net';
import { z } from 'zod';
import { bytes, duration, millicores } from '../duration.ts';
import { expectation, refuse } from '../expectation.ts';

const NAME = /^[A-Za-z0-9_*][A-Za-z0-9_.*-]{0,127}$/;

const MCP = /^mcp:[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;

const names = z.array(z.string().min(1).max(200)).max(200);

const count = z.number().int().min(1);

/** Configuration of tools that have one (W44); other servers take any object. */
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
      refuse(context, ['executor'], 'server excludes executor: keep one of the two');
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

/** `spec.tools[]`: names, patterns or objects; after parsing an object each. */
export const AgentTools = z
  .array(z.union([ToolName, ToolObject]))
  .max(200)
  .prefault([]);

const DOMAIN =
  /^(\*\.)?([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** `example.com`, `*.example.com`, an address, or a CIDR block. */
function isNetworkTarget(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  if (prefix === undefined) return isIP(text) !== 0 || (text.length <= 253 && DOMAIN.test(text));
  const family = isIP(address);
  return more.length === 0 && family !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128);
}

const targets = z
  .array(
    z.string().refine(isNetworkTarget, {
      error: 'expected a domain such as api.example.com or *.example.com, or a CIDR',
      params: { show: true },
    }),
  )
  .max(500)
  .default([]);

const glob = z
  .string()
  .max(1_024)
  .regex(/^\//, 'expected an absolute path pattern such as /workspace/**')
  .refine((path) => !path.split('/').includes('..'), 'expected a path without ".." in it');

const globs = z.array(glob).max(200).default([]);

/** `deny`: only the allowlist. `allow`: everything, or only the allowlist when there is one. `none`: no network. */
const Network = z
  .strictObject({ mode: z.enum(['allow', 'deny', 'none']).default('deny'), allowlist: targets, denylist: targets })
  .superRefine((network, context) => {
    if (network.mode === 'none' && network.allowlist.length > 0)
      refuse(context, ['allowlist'], 'mode none has no network: expected no entries');
  });

const KIB = 1_024;

const Resources = z
  .strictObject({
    cpu: millicores({ min: 10, max: 256_000 }).prefault(1_000),
    memory: bytes({ min: 4 * KIB ** 2, max: 4 * KIB ** 4, text: 'from 4Mi to 4Ti' }).prefault('512Mi'),
    disk: bytes({ min: KIB ** 2, max: 64 * KIB ** 4, text: 'from 1Mi to 64Ti' }).prefault('1Gi'),
    timeout: duration({ minMs: 1, maxMs: 3_600_000, text: 'at most 1h' }).prefault('1800s'),
  })
  .transform(({ cpu, memory, disk, timeout }) => ({
    cpu_millicores: cpu,
    memory_bytes: memory,
    disk_bytes: disk,
    /** Time-out of the whole execution. */
    timeout_ms: timeout,
  }));

/** `spec.security`: deny by default (W22). */
export const AgentSecurity = z.strictObject({
  network: Network.prefault({}),
  filesystem: z
    .strictObject({ read: globs, write: globs, read_only: z.boolean().default(false) })
    .superRefine((filesystem, context) => {
      if (filesystem.read_only && filesystem.write.length > 0)
        refuse(context, ['write'], 'read_only is true: expected no entries');
    })
    .prefault({}),
  resources: Resources.prefault({}),
});

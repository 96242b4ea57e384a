import { z } from 'zod';
import { distinct, refuse } from '../expectation.ts';
import { secretText } from '../secret.ts';
import { SharedPath } from './containers.ts';

const name = z.string().min(1).max(100);
const names = z.array(z.string().min(1).max(1_024)).max(1_000);
const count = z.number().int().min(1);
const capabilityName = z.string().min(1).max(200);

/** A tool of a server; `skip_judge` is the operator's choice, agents cannot change it (W32). */
const ToolCapability = z.union([
  capabilityName.transform((tool) => ({ name: tool, skip_judge: false })),
  z.strictObject({ name: capabilityName, skip_judge: z.boolean().default(false) }),
]);

/** Prefix of its tools' names: `NAME.TOOL`. Built-in tools keep their names. */
const serverName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,48}$/, 'expected at most 48 letters, digits, _ or -')
  .refine((text) => !['fs', 'web', 'cmd', 'svc'].includes(text), 'fs, web, cmd and svc belong to built-in tools');

const environmentNames = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;
const headerNames = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;

const McpServer = z
  .strictObject({
    name: serverName,
    enabled: z.boolean().default(true),
    /** A program with MCP over its standard input and output; or `url`. */
    executable: z.string().min(1).max(4_096).optional(),
    /** A server with MCP over streamable HTTP; or `executable`. */
    url: z
      .string()
      .max(2_048)
      .refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''), 'expected a URL with http:// or https://')
      .refine((text) => URL.parse(text)?.username === '', 'put credentials into credentials.bearer or headers')
      .optional(),
    args: z.array(z.string().max(4_096)).max(200).default([]),
    /** Empty: every tool of the server, each subject to judges. */
    capabilities: z.array(ToolCapability).max(500).prefault([]),
    /** Environment of a program; for HTTP only `bearer`. */
    credentials: z.record(name, secretText).default({}),
    environment: z.record(name, secretText).default({}),
    /** Headers of each HTTP request. */
    headers: z.record(name, secretText).default({}),
    /** `auto`: in the sandbox of commands, where this node has one. `off`: with all rights of the node's user. */
    sandbox: z.enum(['auto', 'off']).default('auto'),
    /** Network of a program in the sandbox. */
    network: z.enum(['none', 'host']).default('none'),
    /** Paths of this host that it sees, besides the system's programs, its own file and `host_commands.paths`. */
    paths: z.array(SharedPath).max(100).default([]),
    tool_timeout_seconds: count.max(86_400).default(60),
    health_check: z
      .strictObject({
        interval_seconds: count.max(86_400).default(60),
        timeout_seconds: count.max(3_600).default(5),
        method: z.enum(['tools/list', 'ping']).default('tools/list'),
      })
      .prefault({}),
    resource_limits: z
      .strictObject({
        cpu_millicores: count.max(256_000).default(1_000),
        memory_mb: count.max(4_194_304).default(512),
      })
      .prefault({}),
  })
  .superRefine((server, context) => {
    const wrong = (field: string, message: string): void => refuse(context, [field], message);
    if ((server.executable === undefined) === (server.url === undefined)) {
      wrong('executable', 'expected either executable or url');
    } else if (server.url === undefined) {
      if (Object.keys(server.headers).length > 0)
        wrong('headers', 'only a server with a url takes headers: use environment or credentials');
      for (const field of ['credentials', 'environment'] as const) {
        const bad = Object.keys(server[field]).find((key) => !environmentNames.test(key));
        if (bad !== undefined) wrong(field, `${bad}: expected the name of an environment variable`);
      }
    } else {
      for (const field of ['sandbox', 'network', 'paths'] as const) {
        if (server[field] !== 'auto' && server[field] !== 'none' && server[field].length > 0)
          wrong(field, 'only a server with an executable runs on this host: remove the field');
      }
      if (server.args.length > 0) wrong('args', 'only a server with an executable takes arguments');
      if (Object.keys(server.environment).length > 0)
        wrong('environment', 'only a server with an executable takes environment variables');
      if (Object.keys(server.credentials).some((key) => key !== 'bearer')) {
        wrong('credentials', 'a server with a url takes only bearer here: put other credentials into headers');
      }
      const bad = Object.keys(server.headers).find((key) => !headerNames.test(key));
      if (bad !== undefined) wrong('headers', `${bad}: expected the name of a header`);
    }
  });

/** `spec.mcp_servers[]` (W45): servers whose tools the node offers. Secret texts may be references. */
export const McpServers = z.array(McpServer).max(200).superRefine(distinct('name', 'mcp_servers')).prefault([]);

const commandLimits = {
  default_timeout_secs: count.max(86_400).default(60),
  max_timeout_ceiling_secs: count.max(86_400).default(300),
  max_output_bytes: count.max(16 * 1_024 * 1_024).default(524_288),
  max_concurrent_per_execution: count.max(1_000).default(1),
  global_env_denylist: names.default([]),
};

const Dispatcher = z.strictObject({
  name,
  description: z.string().max(2_000).optional(),
  enabled: z.boolean().default(true),
  capabilities: z.array(ToolCapability).max(500).prefault([]),
  api_key: secretText.optional(),
  ...commandLimits,
});

/** `spec.builtin_dispatchers`: a list, or the older object form with `cmd`; a list after parsing. */
export const BuiltinDispatchers = z
  .union([
    z.array(Dispatcher).max(100),
    z
      .strictObject({ cmd: z.strictObject(commandLimits).optional() })
      .transform(({ cmd }) => (cmd === undefined ? [] : [{ name: 'cmd', enabled: true, capabilities: [], ...cmd }])),
  ])
  .prefault([]);

const Capability = z.strictObject({
  tool_pattern: z.string().regex(/^(\*|[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?)$/, 'expected fs.read, fs.* or *'),
  path_allowlist: names.optional(),
  command_allowlist: names.optional(),
  subcommand_allowlist: z.record(z.string().min(1).max(200), names).optional(),
  domain_allowlist: names.optional(),
  /** Bytes. */
  max_response_size: count.optional(),
  rate_limit: z.strictObject({ calls: count, per_seconds: count }).optional(),
  max_concurrent: count.optional(),
});

/** Names of the built-in contexts (security/policy/built-in.ts), which no configuration replaces. */
const RESERVED = /^(svc-system-.*|free|pro|business|enterprise)$/;
const TENANT_CONTEXT = /^tenant-([a-z0-9]+)-[a-z0-9]+$/;

const SecurityContext = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,126}$/, 'expected lower-case letters, digits and dashes')
      .refine((text) => !RESERVED.test(text), {
        error: 'expected a name that does not start with svc-system- and is none of a tier',
        params: { show: true },
      }),
    description: z.string().max(2_000).default(''),
    /** Only this tenant's executions may use it; names tenant-{slug}-* belong to the tenant of that slug. */
    tenant: z.string().min(1).max(63).optional(),
    capabilities: z.array(Capability).max(500).default([]),
    deny_list: names.default([]),
  })
  .superRefine(({ name: text, tenant }, context) => {
    if (!text.startsWith('tenant-')) return;
    // tenant-a-b-c could be of tenant a or of a-b, so the tenant must be given.
    const isClear = tenant === undefined ? TENANT_CONTEXT.test(text) : text.startsWith(`tenant-${tenant}-`);
    const message = `expected the tenant whose context this is, so that the name is tenant-{tenant}-*`;
    if (!isClear) refuse(context, ['tenant'], message);
  });

/** `spec.security_contexts[]` (W33): deny list first, then the capabilities in order, else deny. */
export const SecurityContexts = z
  .array(SecurityContext)
  .max(500)
  .superRefine(distinct('name', 'security_contexts'))
  .default([]);

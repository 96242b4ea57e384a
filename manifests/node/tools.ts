import { z } from 'zod';
import { secretText } from '../secret.ts';

const name = z.string().min(1).max(100);
const names = z.array(z.string().min(1).max(1_024)).max(1_000);
const count = z.number().int().min(1);
const capabilityName = z.string().min(1).max(200);

/** A tool that a server offers; `skip_judge` is the operator's word, agents cannot change it (spec 3). */
const ToolCapability = z.union([
  capabilityName.transform((tool) => ({ name: tool, skip_judge: false })),
  z.strictObject({ name: capabilityName, skip_judge: z.boolean().default(false) }),
]);

/** `spec.mcp_servers[]`. Credentials and environment may be secret references. */
export const McpServers = z
  .array(
    z.strictObject({
      name,
      enabled: z.boolean().default(true),
      executable: z.string().min(1).max(4_096),
      args: z.array(z.string().max(4_096)).max(200).default([]),
      capabilities: z.array(ToolCapability).max(500).prefault([]),
      credentials: z.record(name, secretText).default({}),
      environment: z.record(name, secretText).default({}),
      health_check: z
        .strictObject({
          interval_seconds: count.max(86_400).default(60),
          timeout_seconds: count.max(3_600).default(5),
          method: z.string().min(1).max(100).default('tools/list'),
        })
        .prefault({}),
      resource_limits: z
        .strictObject({
          cpu_millicores: count.max(256_000).default(1_000),
          memory_mb: count.max(4_194_304).default(512),
        })
        .prefault({}),
    }),
  )
  .max(200)
  .prefault([]);

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
  tool_pattern: z.string().regex(/^(\*|[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*(\.\*)?)$/, 'expected fs.read, fs.* or *'),
  path_allowlist: names.optional(),
  command_allowlist: names.optional(),
  subcommand_allowlist: z.record(z.string().min(1).max(200), names).optional(),
  domain_allowlist: names.optional(),
  /** Bytes. */
  max_response_size: count.optional(),
  rate_limit: z.strictObject({ calls: count, per_seconds: count }).optional(),
  max_concurrent: count.optional(),
});

/** `spec.security_contexts[]` (original-facts 4): deny list first, then the capabilities in order, else deny. */
export const SecurityContexts = z
  .array(
    z.strictObject({
      name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,126}$/, 'expected lower-case letters, digits and dashes'),
      description: z.string().max(2_000).default(''),
      capabilities: z.array(Capability).max(500).default([]),
      deny_list: names.default([]),
    }),
  )
  .max(500)
  .default([]);

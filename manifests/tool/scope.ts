import { z } from 'zod';

/** One capability of a security context (W33): the first whose pattern matches and whose limits hold allows. */
export const Capability = z.object({
  /** `fs.read`, `fs.*` or `*`. */
  tool_pattern: z.string(),
  path_allowlist: z.array(z.string()).optional(),
  command_allowlist: z.array(z.string()).optional(),
  subcommand_allowlist: z.record(z.string(), z.array(z.string())).optional(),
  domain_allowlist: z.array(z.string()).optional(),
  /** Bytes. */
  max_response_size: z.number().int().optional(),
  rate_limit: z.object({ calls: z.number().int(), per_seconds: z.number().int() }).optional(),
  max_concurrent: z.number().int().optional(),
});
export type Capability = z.output<typeof Capability>;

/** One entry of an agent's `spec.tools` after parsing. */
export const ManifestTool = z.object({
  name: z.string(),
  /** `mcp:NAME`. */
  server: z.string().optional(),
  executor: z.literal('builtin:cmd').optional(),
  config: z.record(z.string(), z.json()),
});
export type ManifestTool = z.output<typeof ManifestTool>;

/**
 * What may be called, and with what: a security context, narrowed by the agent's manifest. Effective = context ∩ manifest
 * (S6). Everything policy needs and nothing that must be kept secret.
 */
export const ToolScope = z.object({
  security_context: z.string(),
  deny_list: z.array(z.string()),
  capabilities: z.array(Capability),
  /** `spec.tools` of the agent; null where no agent narrows it: a caller of `/mcp`. An empty list allows no tool. */
  manifest: z.array(ManifestTool).nullable(),
  /** `spec.security.network` of the agent, its execution's policy included; null: the capabilities alone decide. */
  network: z
    .object({ mode: z.enum(['allow', 'deny', 'none']), allowlist: z.array(z.string()), denylist: z.array(z.string()) })
    .nullable(),
  /** Names of the MCP servers that were configured, up or down: `mcp:filesystem` is that server then, not fs.*. */
  mcp_servers: z.array(z.string()).optional(),
  /** `spec.security.filesystem`: globs of absolute paths; empty lists leave it to the capabilities. */
  filesystem: z.object({ read: z.array(z.string()), write: z.array(z.string()), read_only: z.boolean() }).nullable(),
});
export type ToolScope = z.output<typeof ToolScope>;

/** A tool as it is offered, pinned for as long as the grant lives: what changes meanwhile is noticed by its hash. */
export const ToolOffer = z.object({
  name: z.string(),
  description: z.string(),
  /** JSON Schema. */
  input_schema: z.record(z.string(), z.json()),
  /** SHA-256, hex, of the canonical JSON of name, description and input_schema. */
  schema_hash: z.string(),
  source: z.enum(['builtin', 'mcp']),
  /** Name of the MCP server, for source `mcp`. */
  server: z.string().optional(),
  /** True: no judge looks at a proposed call (W32; the operator may override it). */
  skip_judge: z.boolean(),
  /** `once`: never repeated after a crash, in doubt instead (E2). */
  mode: z.enum(['repeatable', 'once']),
  /** Changes nothing: such calls may run side by side. */
  reads: z.boolean(),
  /** `agent`: runs where the agent runs (cmd.run), so over the dispatch gateway for one in a container. */
  runs: z.enum(['node', 'agent']),
});
export type ToolOffer = z.output<typeof ToolOffer>;

/** Ceilings of a node for cmd.run (`spec.builtin_dispatchers`, entry `cmd`). */
export const CommandCeilings = z.object({
  default_timeout_secs: z.number(),
  max_timeout_ceiling_secs: z.number(),
  max_output_bytes: z.number(),
  max_concurrent_per_execution: z.number(),
  global_env_denylist: z.array(z.string()),
});
export type CommandCeilings = z.output<typeof CommandCeilings>;

export const ToolGrant = ToolScope.extend({
  tools: z.array(ToolOffer).max(1_000),
  /** Pinned too, so that nodes whose settings differ decide alike. */
  ceilings: CommandCeilings.optional(),
});
export type ToolGrant = z.output<typeof ToolGrant>;

/** Input of the effect `tools.grant`: what an execution says of itself; the node adds its contexts and servers. */
export const GrantRequest = z.object({
  /** Of the manifest; absent: the one of spawned executions, `svc-system-agent-runtime`. */
  security_context: z.string().optional(),
  /** Of the execution, where its manifest names a context. */
  agent_id: z.string().optional(),
  manifest: z.array(ManifestTool).nullable(),
  network: ToolScope.shape.network,
  filesystem: ToolScope.shape.filesystem,
});
export type GrantRequest = z.output<typeof GrantRequest>;

/**
 * Whether a call may run before the commit that asks for it: it only reads. Management tools look at actors, also at the
 * one that asks, as its commit leaves it, so they wait.
 */
export const mayRunAhead = ({ reads, name }: Pick<ToolOffer, 'reads' | 'name'>): boolean =>
  reads && !name.startsWith('svc.');

import { z } from 'zod';
import { jsonRecord } from './json-record.ts';

/**
 * One capability of a security context (W33). The first one whose pattern matches and whose limits hold allows the
 * call.
 */
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

/** JSON from a manifest that was parsed. It is not walked again: a schema that does so cannot be compiled. */
const json = z.custom<z.core.util.JSONType>((value) => value !== undefined, 'expected a JSON value');

/** One entry of an agent's `spec.tools` after parsing. */
export const ManifestTool = z.object({
  name: z.string(),
  /** `mcp:NAME`. */
  server: z.string().optional(),
  executor: z.literal('builtin:cmd').optional(),
  config: z.record(z.string(), json),
});
export type ManifestTool = z.output<typeof ManifestTool>;

/**
 * Which tools may be called, with which arguments: a security context narrowed by the agent's manifest. Effective = context ∩
 * manifest (S6). It has everything that policy needs, and no secret.
 */
export const ToolScope = z.object({
  security_context: z.string(),
  deny_list: z.array(z.string()),
  capabilities: z.array(Capability),
  /** `spec.tools` of the agent; null without an agent (a caller of `/mcp`). An empty list allows no tool. */
  manifest: z.array(ManifestTool).nullable(),
  /** `spec.security.network` of the agent, narrowed by its execution's policy; null: the capabilities alone decide. */
  network: z
    .object({ mode: z.enum(['allow', 'deny', 'none']), allowlist: z.array(z.string()), denylist: z.array(z.string()) })
    .nullable(),
  /** Names of the configured MCP servers, up or down: with such a name, `mcp:filesystem` is that server, not fs.*. */
  mcp_servers: z.array(z.string()).optional(),
  /** `spec.security.filesystem`: globs of absolute paths; with an empty list the capabilities decide. */
  filesystem: z.object({ read: z.array(z.string()), write: z.array(z.string()), read_only: z.boolean() }).nullable(),
});
export type ToolScope = z.output<typeof ToolScope>;

/** An offered tool, pinned while the grant lives: its hash reveals a later change. */
export const ToolOffer = z.object({
  name: z.string(),
  description: z.string(),
  /** JSON Schema. */
  input_schema: jsonRecord,
  /** SHA-256, hex, of the canonical JSON of name, description and input_schema. */
  schema_hash: z.string(),
  source: z.enum(['builtin', 'mcp']),
  /** Name of the MCP server, for source `mcp`. */
  server: z.string().optional(),
  /** True: proposed calls are not judged (W32; the operator may override it). */
  skip_judge: z.boolean(),
  /** `once`: in doubt after a crash, not repeated (E2). */
  mode: z.enum(['repeatable', 'once']),
  /** Read-only: such calls may run in parallel. */
  reads: z.boolean(),
  /** `agent`: runs in the agent's environment (cmd.run): for an agent in a container, over the dispatch gateway. */
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
  /** Pinned too, so that nodes with different settings decide in the same way. */
  ceilings: CommandCeilings.optional(),
});
export type ToolGrant = z.output<typeof ToolGrant>;

/** Input of the effect `tools.grant`, from the execution; the node adds its contexts and servers. */
export const GrantRequest = z.object({
  /** The manifest's; absent: that of started executions, `svc-system-agent-runtime`. */
  security_context: z.string().optional(),
  /** The agent's id, when its manifest names a context. */
  agent_id: z.string().optional(),
  manifest: z.array(ManifestTool).nullable(),
  network: ToolScope.shape.network,
  filesystem: ToolScope.shape.filesystem,
});
export type GrantRequest = z.output<typeof GrantRequest>;

/**
 * Whether a call may run before the commit that requests it: only when it reads nothing that the commit writes. Management
 * tools read actors, including the one that requests the call, so they wait.
 */
export const mayRunAhead = ({ reads, name }: Pick<ToolOffer, 'reads' | 'name'>): boolean =>
  reads && !name.startsWith('svc.');

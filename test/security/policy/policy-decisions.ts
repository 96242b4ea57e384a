import { z } from 'zod';
import type { ToolContract } from '../../../manifests/tool/contract.ts';
import type { ToolDecision } from '../../../manifests/tool/decision.ts';
import type { Capability, ManifestTool, ToolGrant, ToolOffer } from '../../../manifests/tool/scope.ts';
import { commandCeilings } from '../../../security/policy/matching.ts';
import { createToolPolicy } from '../../../security/policy/policy.ts';
import { BUILT_IN, TOOL_CONTRACTS } from '../../../tools/contracts.ts';

export const policy = createToolPolicy({ contracts: TOOL_CONTRACTS, ceilings: commandCeilings([]) });

export const tool = (name: string, more: Partial<ManifestTool> = {}): ManifestTool => ({ name, config: {}, ...more });

/** cmd.run with the commands of a manifest. */
export const commands = (subcommand_allowlist: Record<string, string[]>, config = {}): ManifestTool =>
  tool('cmd.run', { executor: 'builtin:cmd', config: { subcommand_allowlist, ...config } });

const builtIn = (contract: ToolContract): ToolOffer => ({
  name: contract.name,
  description: contract.description,
  input_schema: z.record(z.string(), z.json()).parse(z.toJSONSchema(contract.input, { io: 'input' })),
  schema_hash: 'a'.repeat(64),
  source: 'builtin',
  skip_judge: contract.skipJudge,
  mode: contract.mode,
  reads: contract.reads,
  runs: contract.runs,
});

/** A tool of an MCP server. */
export const mcpTool = (server: string, name: string, input_schema: ToolOffer['input_schema']): ToolOffer => ({
  name: `${server}.${name}`,
  description: name,
  input_schema,
  schema_hash: 'b'.repeat(64),
  source: 'mcp',
  server,
  skip_judge: false,
  mode: 'once',
  reads: false,
  runs: 'node',
});

export const ECHO = mcpTool('demo', 'echo', {
  type: 'object',
  properties: { message: { type: 'string', maxLength: 10 }, path: { type: 'string' }, url: { type: 'string' } },
  required: ['message'],
  additionalProperties: false,
});

/** All built-in tools and one of an MCP server, under `*` and without a manifest; `changed` replaces parts of it. */
export const grant = (
  changed: Omit<Partial<ToolGrant>, 'capabilities'> & { readonly capabilities?: readonly Partial<Capability>[] } = {},
): ToolGrant => ({
  security_context: 'test',
  deny_list: [],
  manifest: null,
  network: null,
  filesystem: null,
  tools: [...BUILT_IN.map(builtIn), ECHO],
  ...changed,
  capabilities: (changed.capabilities ?? [{}]).map((capability) => ({ tool_pattern: '*', ...capability })),
});

export const decide = (given: Parameters<typeof grant>[0], name: string, args: unknown): ToolDecision =>
  policy.decide(grant(given), { name, arguments: args });

/** `allowed`, or the reason and the field. */
export function verdict(decision: ToolDecision): string {
  if (decision.allowed) return 'allowed';
  return decision.field === undefined ? decision.reason : `${decision.reason} ${decision.field}`;
}

import { z } from 'zod';
import { canonicalHash } from '../manifests/audit/record.ts';
import type { ToolContract } from '../manifests/tool/contract.ts';
import type { CommandCeilings, ToolGrant, ToolOffer, ToolScope } from '../manifests/tool/scope.ts';
import type { JsonObject } from '../runtime/json.ts';
import type { SecurityContexts } from '../security/policy/api.ts';
import type { McpServers, McpTool } from '../usecases/ports/mcp-servers.ts';
import type { ToolGranter } from '../usecases/ports/tool-granter.ts';
import { needsExecution } from '../usecases/ports/tool-granter.ts';
import { BUILT_IN, TOOL_CONTRACTS } from './contracts.ts';

export interface ToolGranterParts {
  readonly contexts: SecurityContexts;
  /** Whether a scope offers a tool (security/policy); `hasServer` says which MCP servers are configured. */
  isListed(scope: ToolScope, tool: ToolOffer, hasServer: (name: string) => boolean): boolean;
  readonly mcp?: Pick<McpServers, 'tools' | 'status'>;
  /** `spec.builtin_dispatchers`. */
  readonly dispatchers?: readonly DispatcherSettings[];
  /** Copied into each grant. */
  readonly ceilings?: CommandCeilings;
  /** Names of built-in tools that this node cannot run and does not offer. */
  readonly without?: ReadonlySet<string>;
}

/** The tools that this node offers now. The effect of a call compares its grant with them (`ToolChanged`). */
export interface NodeTools extends ToolGranter {
  /** The offer of a tool; null when this node offers no tool of this name now. */
  offer(name: string): Promise<ToolOffer | null>;
  /** The tools that a scope may call now, for `svc.tools.list`. */
  list(scope: ToolScope, options?: { readonly withoutExecution?: boolean }): Promise<readonly ToolOffer[]>;
}

const MAX_OFFERS = 1_000;

export function createToolGranter(parts: ToolGranterParts): NodeTools {
  const skips = judgeOverrides(parts.dispatchers ?? []);
  let offered: readonly ToolOffer[] | null = null;
  // Lazy, so that an idle node does not hold the schemas of all tools.
  const builtIn = (): readonly ToolOffer[] => {
    offered ??= BUILT_IN.filter(({ name }) => parts.without?.has(name) !== true).map((contract) => {
      const offer = builtInOffer(contract);
      return { ...offer, skip_judge: skips(contract) ?? offer.skip_judge };
    });
    return offered;
  };
  const mcpOffers = async (): Promise<ToolOffer[]> =>
    ((await parts.mcp?.tools()) ?? []).map(mcpOffer).filter((offer) => offer !== null);

  const serverNames = (): string[] => (parts.mcp?.status() ?? []).map(({ name }) => name);

  const list: NodeTools['list'] = async (scope, { withoutExecution = false } = {}) => {
    const all = [...builtIn(), ...(await mcpOffers())].filter((offer) => !withoutExecution || !needsExecution(offer));
    const servers = new Set(serverNames());
    const hasServer = (name: string): boolean => servers.has(name);
    return all.filter((offer) => parts.isListed(scope, offer, hasServer)).slice(0, MAX_OFFERS);
  };

  const granted = (scope: ToolScope, tools: readonly ToolOffer[]): ToolGrant => ({
    ...scope,
    mcp_servers: serverNames(),
    ...(parts.ceilings === undefined ? {} : { ceilings: parts.ceilings }),
    tools: [...tools],
  });

  return {
    list,
    async grant(tenant, request) {
      const scope = parts.contexts.scopeFor(tenant, request);
      return granted(scope, await list(scope));
    },
    async callerGrant(identity) {
      const scope = parts.contexts.callerScope(identity);
      return granted(scope, await list(scope, { withoutExecution: true }));
    },
    outputSchema,
    async offer(name) {
      const contract = TOOL_CONTRACTS.get(name);
      if (contract !== undefined) return builtIn().find((offer) => offer.name === contract.name) ?? null;
      return (await mcpOffers()).find((offer) => offer.name === name) ?? null;
    },
  };
}

/** The part of an entry of `spec.builtin_dispatchers` (manifests/node/tools.ts) that concerns judges. */
interface DispatcherSettings {
  readonly name: string;
  readonly enabled: boolean;
  readonly capabilities: readonly { readonly name: string; readonly skip_judge: boolean }[];
}

/**
 * The operator's `skip_judge` for a built-in tool, by name or alias (W32); null if not set. The last entry for a tool wins;
 * disabled dispatchers are ignored.
 */
function judgeOverrides(dispatchers: readonly DispatcherSettings[]): (tool: ToolContract) => boolean | null {
  const overrides = new Map<string, boolean>();
  for (const { enabled, capabilities } of dispatchers) {
    if (enabled) for (const { name, skip_judge } of capabilities) overrides.set(name, skip_judge);
  }
  return ({ name, aliases = [] }) => {
    const known = [name, ...aliases].find((one) => overrides.has(one));
    return known === undefined ? null : (overrides.get(known) ?? null);
  };
}

/** Cache of published schemas: a contract never changes while the process runs. */
const published = new WeakMap<ToolContract, ToolOffer>();

/** The offer of a built-in tool. */
export function builtInOffer(contract: ToolContract): ToolOffer {
  const known = published.get(contract);
  if (known !== undefined) return known;
  const { name, description, skipJudge, mode, reads, runs } = contract;
  const offer: ToolOffer = {
    ...hashed({ name, description, input_schema: inputSchema(contract) }),
    source: 'builtin',
    skip_judge: skipJudge,
    mode,
    reads,
    runs,
  };
  published.set(contract, offer);
  return offer;
}

const results = new WeakMap<ToolContract, JsonObject>();

/** JSON Schema of a built-in tool's structured result; undefined for a tool that returns text. */
export function outputSchema(name: string): JsonObject | undefined {
  const contract = TOOL_CONTRACTS.get(name);
  if (contract?.result === undefined) return undefined;
  const known = results.get(contract);
  if (known !== undefined) return known;
  const { $schema: _dialect, '~standard': _standard, ...schema } = z.toJSONSchema(contract.result, { io: 'output' });
  // MCP requires the type, and a union of objects does not have one by itself.
  const made = z.record(z.string(), z.json()).parse({ ...schema, type: 'object' });
  results.set(contract, made);
  return made;
}

/** JSON Schema of the arguments. Arguments with defaults are optional. */
function inputSchema(contract: ToolContract): ToolOffer['input_schema'] {
  const { $schema: _dialect, '~standard': _standard, ...schema } = z.toJSONSchema(contract.input, { io: 'input' });
  return z.record(z.string(), z.json()).parse(schema);
}

/** The offer of an MCP server's tool; null if its name is that of a built-in tool. */
function mcpOffer(tool: McpTool): ToolOffer | null {
  const name = `${tool.server}.${tool.tool}`;
  if (TOOL_CONTRACTS.has(name)) return null;
  const { server, description, inputSchema: input_schema, skipJudge, repeatable, reads } = tool;
  return {
    ...hashed({ name, description, input_schema }),
    source: 'mcp',
    server,
    skip_judge: skipJudge,
    runs: 'node',
    reads,
    mode: reads || repeatable ? 'repeatable' : 'once',
  };
}

/** Adds the hash by which a call detects that the tool has changed since the grant. */
function hashed({ name, description, input_schema }: Pick<ToolOffer, 'name' | 'description' | 'input_schema'>) {
  return { name, description, input_schema, schema_hash: canonicalHash({ name, description, input_schema }) };
}

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
  /** Whether a scope offers a tool (security/policy); `hasServer` knows the MCP servers that are configured. */
  isListed(scope: ToolScope, tool: ToolOffer, hasServer: (name: string) => boolean): boolean;
  readonly mcp?: Pick<McpServers, 'tools' | 'status'>;
  /** `spec.builtin_dispatchers`. */
  readonly dispatchers?: readonly DispatcherSettings[];
  /** Pinned in each grant. */
  readonly ceilings?: CommandCeilings;
  /** Built-in tools that this node cannot run, by name: they are not offered. */
  readonly without?: ReadonlySet<string>;
}

/** Offers of a moment, and what one of them is now: the effect of a call asks again (`ToolChanged`). */
export interface NodeTools extends ToolGranter {
  /** Null: no tool of that name is offered by this node now. */
  offer(name: string): Promise<ToolOffer | null>;
  /** What a scope may call now, for `svc.tools.list`. */
  list(scope: ToolScope, options?: { readonly withoutExecution?: boolean }): Promise<readonly ToolOffer[]>;
}

const MAX_OFFERS = 1_000;

export function createToolGranter(parts: ToolGranterParts): NodeTools {
  const skips = judgeOverrides(parts.dispatchers ?? []);
  let offered: readonly ToolOffer[] | null = null;
  // Made at the first question: the schemas of all tools are more than an idle node should hold.
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
    return all.filter((offer) => parts.isListed(scope, offer, (name) => servers.has(name))).slice(0, MAX_OFFERS);
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

/** One of `spec.builtin_dispatchers` (manifests/node/tools.ts), as far as judges go. */
interface DispatcherSettings {
  readonly name: string;
  readonly enabled: boolean;
  readonly capabilities: readonly { readonly name: string; readonly skip_judge: boolean }[];
}

/**
 * The operator's word about judges of built-in tools (W32), by name or alias; null where
 * there is none. Of two that name one tool the later counts. A dispatcher that is off is as if it were not there.
 */
function judgeOverrides(dispatchers: readonly DispatcherSettings[]): (tool: ToolContract) => boolean | null {
  const said = new Map<string, boolean>();
  for (const { enabled, capabilities } of dispatchers) {
    if (enabled) for (const { name, skip_judge } of capabilities) said.set(name, skip_judge);
  }
  return ({ name, aliases = [] }) => {
    const known = [name, ...aliases].find((one) => said.has(one));
    return known === undefined ? null : (said.get(known) ?? null);
  };
}

/** Schemas published once: a contract never changes while the process runs. */
const published = new WeakMap<ToolContract, ToolOffer>();

/** A built-in tool as it is offered. */
export function builtInOffer(contract: ToolContract): ToolOffer {
  const known = published.get(contract);
  if (known !== undefined) return known;
  const { name, description, skipJudge, mode, reads, runs } = contract;
  const offer: ToolOffer = {
    ...hashed({ name, description, input_schema: inputSchema(contract) }),
    ...{ source: 'builtin', skip_judge: skipJudge, mode, reads, runs },
  };
  published.set(contract, offer);
  return offer;
}

const results = new WeakMap<ToolContract, JsonObject>();

/** JSON Schema of a built-in tool's structured result; undefined for one that answers with text. */
export function outputSchema(name: string): JsonObject | undefined {
  const contract = TOOL_CONTRACTS.get(name);
  if (contract?.result === undefined) return undefined;
  const known = results.get(contract);
  if (known !== undefined) return known;
  const { $schema: _dialect, '~standard': _standard, ...schema } = z.toJSONSchema(contract.result, { io: 'output' });
  // A choice of objects does not say so by itself, and MCP wants it said.
  const made = z.record(z.string(), z.json()).parse({ ...schema, type: 'object' });
  results.set(contract, made);
  return made;
}

/** What a caller may send, defaults optional. */
function inputSchema(contract: ToolContract): ToolOffer['input_schema'] {
  const { $schema: _dialect, '~standard': _standard, ...schema } = z.toJSONSchema(contract.input, { io: 'input' });
  return z.record(z.string(), z.json()).parse(schema);
}

/** A tool of an MCP server as agents see it; null where its name is one of ours, which cannot be taken. */
function mcpOffer(tool: McpTool): ToolOffer | null {
  const name = `${tool.server}.${tool.tool}`;
  if (TOOL_CONTRACTS.has(name)) return null;
  const { server, description, inputSchema: input_schema, skipJudge, repeatable, reads } = tool;
  return {
    ...hashed({ name, description, input_schema }),
    ...{ source: 'mcp', server, skip_judge: skipJudge, runs: 'node', reads },
    mode: reads || repeatable ? 'repeatable' : 'once',
  };
}

/** The hash by which a grant notices that a tool has changed. */
function hashed<Said extends { name: string; description: string; input_schema: JsonObject }>(said: Said) {
  const { name, description, input_schema } = said;
  return { name, description, input_schema, schema_hash: canonicalHash({ name, description, input_schema }) };
}

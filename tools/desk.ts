import type { McpServers } from '../effects/mcp/api.ts';
import type { CommandCeilings, ToolGrant, ToolOffer, ToolScope } from '../manifests/tool/scope.ts';
import type { SecurityContexts } from '../security/policy/api.ts';
import type { ToolDesk } from './api.ts';
import { BUILT_IN, TOOL_CONTRACTS } from './contracts.ts';
import { type DispatcherSettings, judgeOverrides } from './judge-overrides.ts';
import { builtInOffer, mcpOffer, needsExecution } from './offer.ts';

export interface DeskParts {
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
export interface Desk extends ToolDesk {
  /** Null: no tool of that name is offered by this node now. */
  offer(name: string): Promise<ToolOffer | null>;
  /** What a scope may call now, for `svc.tools.list`. */
  list(scope: ToolScope, options?: { readonly withoutExecution?: boolean }): Promise<readonly ToolOffer[]>;
}

const MAX_OFFERS = 1_000;

export function createToolDesk(parts: DeskParts): Desk {
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

  const list: Desk['list'] = async (scope, { withoutExecution = false } = {}) => {
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
    async offer(name) {
      const contract = TOOL_CONTRACTS.get(name);
      if (contract !== undefined) return builtIn().find((offer) => offer.name === contract.name) ?? null;
      return (await mcpOffers()).find((offer) => offer.name === name) ?? null;
    },
  };
}

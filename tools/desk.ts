import type { McpServers } from '../effects/mcp/api.ts';
import type { ToolPolicy } from '../manifests/tool/decision.ts';
import type { Capability, GrantRequest, ToolGrant, ToolOffer, ToolScope } from '../manifests/tool/scope.ts';
import type { Identity } from '../runtime/identity.ts';
import type { ToolDesk } from './api.ts';
import { BUILT_IN, TOOL_CONTRACTS } from './contracts.ts';
import { type DispatcherSettings, judgeOverrides } from './judge-overrides.ts';
import { builtInOffer, mcpOffer } from './offer.ts';

/** A security context as it is configured on this node. */
export interface ContextRules {
  readonly name: string;
  readonly deny_list: readonly string[];
  readonly capabilities: readonly Capability[];
}

/** The node's security contexts; security/policy has them. */
export interface Contexts {
  /** Absent name: the one of spawned executions. Throws `not_found`, `forbidden` where the tenant may not use it. */
  of(tenant: string, name: string | undefined): ContextRules;
  /** Of a caller without an execution, by kind and tier. */
  ofCaller(identity: Identity): ContextRules;
}

export interface DeskParts {
  readonly contexts: Contexts;
  /** Decides whether a name is allowed, here as for every call: what is listed is what may be called. */
  readonly policy: ToolPolicy;
  readonly mcp?: Pick<McpServers, 'tools'>;
  /** `spec.builtin_dispatchers`. */
  readonly dispatchers?: readonly DispatcherSettings[];
  /** Built-in tools that this node cannot run, by name: they are not offered. */
  readonly without?: ReadonlySet<string>;
}

/** Offers of a moment, and what one of them is now: the effect of a call asks again (`ToolChanged`). */
export interface Desk extends ToolDesk {
  /** Null: no tool of that name is offered by this node now. */
  offer(name: string): Promise<ToolOffer | null>;
}

const MAX_OFFERS = 1_000;
/** No tool takes it, so `decide` says no more than whether the name is allowed. */
const NO_ARGUMENTS = null;
const NAME_REFUSALS: ReadonlySet<string> = new Set(['ToolNotAllowed', 'ToolExplicitlyDenied']);

export function createToolDesk(parts: DeskParts): Desk {
  const skips = judgeOverrides(parts.dispatchers ?? []);
  const builtIn = BUILT_IN.filter(({ name }) => parts.without?.has(name) !== true).map((contract) => {
    const offer = builtInOffer(contract);
    return { ...offer, skip_judge: skips(contract) ?? offer.skip_judge };
  });
  const mcpOffers = async (): Promise<ToolOffer[]> =>
    ((await parts.mcp?.tools()) ?? []).map(mcpOffer).filter((offer) => offer !== null);

  const grantOf = async (scope: ToolScope, usable: (offer: ToolOffer) => boolean = () => true): Promise<ToolGrant> => {
    const all = [...builtIn, ...(await mcpOffers())].filter(usable);
    return { ...scope, tools: allowed(parts.policy, scope, all).slice(0, MAX_OFFERS) };
  };

  return {
    async grant(tenant, request) {
      return grantOf(scopeOf(parts.contexts.of(tenant, request.security_context), request));
    },
    async callerGrant(identity) {
      const scope = scopeOf(parts.contexts.ofCaller(identity), { manifest: null, network: null, filesystem: null });
      return grantOf(scope, needsNoExecution);
    },
    async offer(name) {
      const contract = TOOL_CONTRACTS.get(name);
      if (contract !== undefined) return builtIn.find((offer) => offer.name === contract.name) ?? null;
      return (await mcpOffers()).find((offer) => offer.name === name) ?? null;
    },
  };
}

const scopeOf = (context: ContextRules, request: Omit<GrantRequest, 'security_context'>): ToolScope => ({
  security_context: context.name,
  deny_list: [...context.deny_list],
  capabilities: [...context.capabilities],
  manifest: request.manifest,
  network: request.network,
  filesystem: request.filesystem,
});

/** Those whose name policy lets through. All are shown to it, so that it knows which MCP servers there are. */
function allowed(policy: ToolPolicy, scope: ToolScope, offers: ToolOffer[]): ToolOffer[] {
  const grant: ToolGrant = { ...scope, tools: offers };
  return offers.filter(({ name }) => {
    const decision = policy.decide(grant, { name, arguments: NO_ARGUMENTS });
    return decision.allowed || !NAME_REFUSALS.has(decision.reason);
  });
}

/** Files and commands belong to an execution: a caller of /mcp has neither. */
const needsNoExecution = ({ name, source }: ToolOffer): boolean =>
  source === 'mcp' || !(name.startsWith('fs.') || name === 'cmd.run');

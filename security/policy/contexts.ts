import type { Capability, GrantRequest, ToolScope } from '../../manifests/tool/scope.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import { ADMIN_ROLE, OPERATOR_ROLE, READONLY_ROLE } from '../tenant.ts';
import type { ContextRules, SecurityContexts } from './api.ts';
import {
  ADMINISTRATOR_CAPABILITIES,
  AGENT_RUNTIME,
  builtInContexts,
  isTier,
  type SecurityContext,
  SYSTEM_DEFAULT,
  SYSTEM_OPERATOR,
  SYSTEM_READONLY,
} from './built-in.ts';

const SYSTEM_PREFIX = 'svc-system-';
const TENANT_PREFIX = 'tenant-';

/** A context as an operator configures it, with a description. */
type Configured = Omit<SecurityContext, 'tenant'> & { readonly tenant?: string | undefined };

/**
 * Contains the built-in contexts and those of `spec.security_contexts`. `mcpServers` are the names of `spec.mcp_servers`:
 * agents of any tenant may use a server that their manifest names, unless they run under another context. `isAuthor` recognises
 * the product's authoring agents, which run under `svc-system-default` in each tenant (W34).
 */
export function createSecurityContexts(
  configured: readonly Configured[],
  {
    mcpServers = [],
    isAuthor = () => false,
  }: { readonly mcpServers?: readonly string[]; readonly isAuthor?: (agentId: string) => boolean } = {},
): SecurityContexts {
  // The built-in contexts come last, so that no configuration replaces them.
  const contexts = new Map([...configured, ...builtInContexts(mcpServers)].map((context) => [context.name, context]));
  const named = (name: string): ContextRules => {
    const context = contexts.get(name);
    if (context === undefined) throw new SvcError('not_found', `There is no security context ${name}.`);
    return context;
  };
  const of: SecurityContexts['of'] = (tenant, name = AGENT_RUNTIME) => {
    if (isOpenTo(name, tenant, contexts.get(name))) return named(name);
    throw new SvcError('forbidden', `The security context ${name} is not for executions of this tenant.`, {
      field: 'security_context',
    });
  };
  const ofCaller: SecurityContexts['ofCaller'] = (identity) => {
    const { name, more } = contextOf(identity);
    const rules = named(name);
    return { ...rules, capabilities: [...rules.capabilities, ...more] };
  };
  const ofAgent = (tenant: string, { security_context, agent_id }: GrantRequest): ContextRules =>
    security_context === SYSTEM_DEFAULT && agent_id !== undefined && isAuthor(agent_id)
      ? named(SYSTEM_DEFAULT)
      : of(tenant, security_context);
  return {
    of,
    ofCaller,
    scopeFor: (tenant, request) => scopeOf(ofAgent(tenant, request), request),
    callerScope: (identity) => scopeOf(ofCaller(identity), { manifest: null, network: null, filesystem: null }),
  };
}

/** Whether an execution of the tenant may name a context. */
function isOpenTo(name: string, tenant: string, context: Configured | undefined): boolean {
  if (name === AGENT_RUNTIME) return true;
  if (name.startsWith(SYSTEM_PREFIX)) return tenant === SYSTEM_TENANT;
  // Contexts of tiers are for callers; executions never run under them (W33).
  if (isTier(name)) return false;
  if (context?.tenant !== undefined) return context.tenant === tenant;
  return !name.startsWith(TENANT_PREFIX) || name.startsWith(`${TENANT_PREFIX}${tenant}-`);
}

function scopeOf(
  { name, capabilities, deny_list }: ContextRules,
  { manifest, network, filesystem }: Omit<GrantRequest, 'security_context' | 'agent_id'>,
): ToolScope {
  return {
    security_context: name,
    deny_list: [...deny_list],
    capabilities: [...capabilities],
    manifest,
    network,
    filesystem,
  };
}

type CallerContext = { readonly name: string; readonly more: readonly Capability[] };

const alone = (name: string): CallerContext => ({ name, more: [] });

function contextOf({ kind, roles, tier }: Identity): CallerContext {
  const writes = kind !== 'consumer' && (roles.includes(ADMIN_ROLE) || roles.includes(OPERATOR_ROLE));
  if (kind === 'local') return alone(SYSTEM_OPERATOR);
  if (kind === 'actor') throw new SvcError('forbidden', 'An actor calls no tools of its own.');
  if (!writes && roles.includes(READONLY_ROLE)) return alone(SYSTEM_READONLY);
  if (kind === 'operator') return writes ? alone(SYSTEM_OPERATOR) : alone(SYSTEM_READONLY);
  if (kind === 'service_account') return alone(SYSTEM_DEFAULT);
  // Administrators of a tenant may deploy in it, as over REST (W2).
  return { name: tier, more: kind === 'tenant_user' && writes ? ADMINISTRATOR_CAPABILITIES : [] };
}

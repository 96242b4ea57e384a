import type { Capability, ToolScope } from '../../manifests/tool/scope.ts';
import { AUTHORING, OPERATING, READING, RUNNING } from './svc-tools.ts';

/** A security context as it is configured (manifests/node/tools.ts). */
export interface SecurityContext {
  readonly name: string;
  readonly capabilities: readonly Capability[];
  readonly deny_list: readonly string[];
  /** Only this tenant may use it. */
  readonly tenant?: string;
}

/** Context of spawned executions. */
export const AGENT_RUNTIME = 'svc-system-agent-runtime';
/** Context of authoring agents, and of service accounts. */
export const SYSTEM_DEFAULT = 'svc-system-default';
export const SYSTEM_OPERATOR = 'svc-system-operator';
/** Of operators and tenant users that may only look. */
export const SYSTEM_READONLY = 'svc-system-readonly';

export const TIERS = ['free', 'pro', 'business', 'enterprise'] as const;

const tools = (names: readonly string[]): Capability[] => names.map((tool_pattern) => ({ tool_pattern }));

export const AUTHORING_CAPABILITIES: readonly Capability[] = tools(AUTHORING);

/** `mcpServers`: names of the node's MCP servers, which an agent may use when its manifest names them. */
export function builtInContexts(mcpServers: readonly string[]): readonly SecurityContext[] {
  return [
    {
      name: AGENT_RUNTIME,
      capabilities: [
        { tool_pattern: 'fs.*', path_allowlist: ['/workspace/**'] },
        ...tools(['cmd.run', 'web.*', ...READING, ...RUNNING, ...mcpServers.map((server) => `${server}.*`)]),
      ],
      deny_list: [],
    },
    { name: SYSTEM_DEFAULT, capabilities: tools(['*']), deny_list: OPERATING },
    { name: SYSTEM_OPERATOR, capabilities: tools(['*']), deny_list: [] },
    { name: SYSTEM_READONLY, capabilities: tools(READING), deny_list: [] },
    ...TIERS.map((name) => ({ name, capabilities: tierCapabilities(name), deny_list: [] })),
  ];
}

/** No files and no commands for people who call over the network; the free tier answers no waiting workflow. */
function tierCapabilities(tier: (typeof TIERS)[number]): Capability[] {
  const running = tier === 'free' ? RUNNING.filter((tool) => tool !== 'svc.workflow.signal') : RUNNING;
  return tools(['web.*', ...READING, ...running]);
}

/** Contexts whose callers never set `force` and `version` (original-facts 4). */
export const isTier = (name: ToolScope['security_context']): boolean => TIERS.some((tier) => tier === name);

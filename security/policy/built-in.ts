import type { Capability, ToolScope } from '../../manifests/tool/scope.ts';

/** Tools of svc itself by who may call them (W33). */

const named = (area: string, tools: readonly string[]): string[] => tools.map((tool) => `svc.${area}.${tool}`);

/** Look, and change nothing. */
export const READING: readonly string[] = [
  ...named('agent', ['list', 'search', 'export', 'logs', 'wait']),
  ...named('workflow', ['list', 'search', 'export', 'validate', 'executions.list', 'executions.get']),
  ...named('workflow', ['status', 'logs', 'wait']),
  ...named('task', ['status', 'wait', 'list', 'logs']),
  ...named('execute', ['status', 'wait']),
  ...named('tools', ['list', 'search']),
  ...named('schema', ['get', 'validate']),
  'svc.runtime.list',
];

/** Generate, start, answer and cancel. */
export const RUNNING: readonly string[] = [
  'svc.agent.generate',
  ...named('workflow', ['run', 'generate', 'cancel', 'signal']),
  ...named('task', ['execute', 'cancel']),
  'svc.execute',
  'svc.execute.intent',
];

/** Change what is deployed. */
export const AUTHORING: readonly string[] = [
  ...named('agent', ['create', 'update']),
  ...named('workflow', ['create', 'update', 'promote', 'demote']),
];

/** Remove, and look into the node. */
export const OPERATING: readonly string[] = [
  'svc.agent.delete',
  ...named('workflow', ['delete', 'remove']),
  'svc.task.remove',
  ...named('system', ['info', 'config']),
];

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

const TIERS = ['free', 'pro', 'business', 'enterprise'] as const;

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

/** Contexts whose callers never set `force` and `version` (W33). */
export const isTier = (name: ToolScope['security_context']): boolean => TIERS.some((tier) => tier === name);

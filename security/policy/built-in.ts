import type { Capability, ToolScope } from '../../manifests/tool/scope.ts';
import { TIERS } from '../../runtime/identity.ts';

/** Built-in tools by the rights that they need (W33). */

const named = (area: string, tools: readonly string[]): string[] => tools.map((tool) => `svc.${area}.${tool}`);

/** Tools that read and change nothing. */
export const READING: readonly string[] = [
  ...named('agent', ['list', 'search', 'export', 'logs', 'wait']),
  ...named('workflow', ['list', 'search', 'export', 'validate', 'executions.list', 'executions.get']),
  ...named('workflow', ['status', 'logs', 'wait']),
  ...named('task', ['status', 'wait', 'list', 'logs']),
  ...named('execute', ['status', 'wait']),
  ...named('tools', ['list', 'search']),
  ...named('schema', ['get', 'validate']),
  'svc.runtime.list',
  ...named('trace', ['get', 'why']),
  'svc.approval.list',
];

/** Tools that generate, start, answer and cancel. */
export const RUNNING: readonly string[] = [
  'svc.agent.generate',
  ...named('workflow', ['run', 'generate', 'cancel', 'signal']),
  ...named('task', ['execute', 'cancel']),
  'svc.execute',
  'svc.execute.intent',
];

/** Tools that answer questions to humans. Executions of agents have none of them. */
export const ANSWERING: readonly string[] = named('approval', ['approve', 'reject']);

/** Tools that change what is deployed. */
export const AUTHORING: readonly string[] = [
  ...named('agent', ['create', 'update']),
  ...named('workflow', ['create', 'update', 'promote', 'demote']),
];

/** Tools that remove records and inspect the node. */
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
  /** The only tenant that may use it. */
  readonly tenant?: string;
}

/** Context of spawned executions. */
export const AGENT_RUNTIME = 'svc-system-agent-runtime';

/** Context of authoring agents, and of service accounts. */
export const SYSTEM_DEFAULT = 'svc-system-default';

export const SYSTEM_OPERATOR = 'svc-system-operator';

/** Context of operators and tenant users with read access only. */
export const SYSTEM_READONLY = 'svc-system-readonly';

const tools = (names: readonly string[]): Capability[] => names.map((tool_pattern) => ({ tool_pattern }));

/** Of administrators and operators of a tenant, besides those of their tier: as over REST, they deploy and signal. */
export const ADMINISTRATOR_CAPABILITIES: readonly Capability[] = tools([...AUTHORING, 'svc.workflow.signal']);

/**
 * The built-in contexts. `mcpServers` are the names of the node's MCP servers; an agent may use a server that its manifest
 * names.
 */
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

/**
 * Capabilities of users of a tier: no files and no commands over the network. The free tier cannot signal waiting workflows; it
 * answers approvals, as over REST.
 */
function tierCapabilities(tier: (typeof TIERS)[number]): Capability[] {
  const running = tier === 'free' ? RUNNING.filter((tool) => tool !== 'svc.workflow.signal') : RUNNING;
  return tools(['web.*', ...READING, ...running, ...ANSWERING]);
}

/** Whether it is the context of a tier. Callers under one cannot set `force` and `version` (W33). */
export const isTier = (name: ToolScope['security_context']): boolean => TIERS.some((tier) => tier === name);

import { agentYaml } from '../product-node.ts';
import { DONE, workflowText } from '../tenant-objects.ts';
import type { Args } from './asker.ts';
import type { Things } from './isolated-tenants.ts';
import type { OwnThings } from './own-things.ts';

/** An argument of a tool that is, or contains, a name or an id. */
export interface ToolRow {
  readonly tool: string;
  readonly field: string;
  /** The object whose name goes there. */
  readonly things: readonly (keyof Things)[];
  readonly args: (name: string) => Args;
}

const THEN = [{ condition: 'on_success', target: 'done' }];
/** Workflows of the caller, which name another caller's agent, workflow or volume. */
const naming = {
  agent: (agent: string) => workflowText('names-it', { a: { kind: 'Agent', agent, transitions: THEN }, done: DONE }),
  workflow: (workflow_id: string) =>
    workflowText('names-it', { a: { kind: 'Subworkflow', workflow_id, transitions: THEN }, done: DONE }),
  volume: (volume_id: string) =>
    workflowText(
      'names-it',
      { done: DONE },
      { storage: { shared_volumes: [{ name: 'x', storage_class: 'persistent', volume_id }] } },
    ),
};

const AGENTS = ['agent', 'agentName'] as const;
const WORKFLOWS = ['workflow', 'workflowName'] as const;
const EXECUTIONS = ['execution', 'running'] as const;
const RUNS = ['run', 'endedRun'] as const;

const NO_RUN = '00000000-0000-4000-8000-000000000000';

const row = (
  tool: string,
  field: string,
  things: readonly (keyof Things)[],
  args: ToolRow['args'] = (name) => ({ [field]: name }),
): ToolRow => ({ tool: `svc.${tool}`, field, things, args });

/** Every argument of svc.* that is a name or an id of an object in a tenant. */
export const TOOL_ROWS: readonly ToolRow[] = [
  row('agent.export', 'name', AGENTS),
  row('agent.update', 'manifest_yaml', ['agentName'], (name) => ({ manifest_yaml: agentYaml(name, {}, '2.0.0') })),
  row('agent.delete', 'agent_id', ['agent']),
  row('agent.logs', 'agent_id', AGENTS),
  row('agent.wait', 'execution_id', EXECUTIONS, (execution_id) => ({ execution_id, timeout_seconds: 1 })),

  row('workflow.create', 'manifest_yaml', ['agentName'], (name) => ({
    manifest_yaml: naming.agent(name),
    // No judge is as satisfied as this minimum score, so nothing is deployed.
    min_score: 1,
  })),
  row('workflow.create', 'judge_agents', AGENTS, (name) => ({
    manifest_yaml: workflowText('is-judged', { done: DONE }),
    judge_agents: [name],
    force: true,
  })),
  row('workflow.update', 'manifest_yaml', ['workflowName'], (name) => ({
    manifest_yaml: workflowText(name, { done: DONE }),
    force: true,
  })),
  row('workflow.validate', 'manifest_yaml', AGENTS, (name) => ({ manifest_yaml: naming.agent(name) })),
  row('workflow.validate', 'manifest_yaml', WORKFLOWS, (name) => ({ manifest_yaml: naming.workflow(name) })),
  row('workflow.validate', 'manifest_yaml', ['volume'], (name) => ({ manifest_yaml: naming.volume(name) })),
  row('workflow.export', 'name', WORKFLOWS),
  row('workflow.delete', 'name', WORKFLOWS),
  row('workflow.promote', 'name', WORKFLOWS),
  row('workflow.promote', 'name', WORKFLOWS, (name) => ({ name, target_scope: 'tenant' })),
  row('workflow.demote', 'name', WORKFLOWS),
  row('workflow.demote', 'name', WORKFLOWS, (name) => ({ name, target_scope: 'user' })),
  row('workflow.run', 'name', WORKFLOWS),
  row('workflow.executions.list', 'workflow_id', WORKFLOWS),
  row('workflow.executions.get', 'execution_id', RUNS),
  row('workflow.status', 'execution_id', RUNS),
  row('workflow.logs', 'execution_id', RUNS),
  row('workflow.cancel', 'execution_id', RUNS),
  row('workflow.wait', 'execution_id', RUNS, (execution_id) => ({ execution_id, timeout_seconds: 1 })),
  row('workflow.signal', 'execution_id', RUNS, (execution_id) => ({ execution_id, response: 'yes' })),
  row('workflow.remove', 'execution_id', RUNS),

  row('task.execute', 'agent_id', AGENTS),
  row('task.list', 'agent_id', AGENTS),
  row('task.status', 'execution_id', EXECUTIONS),
  row('task.wait', 'execution_id', EXECUTIONS, (execution_id) => ({ execution_id, timeout_seconds: 1 })),
  row('task.logs', 'execution_id', EXECUTIONS),
  row('task.cancel', 'execution_id', EXECUTIONS),
  row('task.remove', 'execution_id', EXECUTIONS),

  row('approval.approve', 'request_id', ['approval']),
  row('approval.reject', 'request_id', ['approval'], (request_id) => ({ request_id, reason: 'no' })),

  row('trace.why', 'execution_id', [...EXECUTIONS, ...RUNS]),
  row('trace.get', 'execution_id', [...EXECUTIONS, ...RUNS]),
  // A run cannot be read together with a trace.
  row('trace.get', 'trace_id', ['trace'], (trace_id) => ({ execution_id: NO_RUN, trace_id })),

  row('execute.intent', 'volume_id', ['volume'], (volume_id) => ({ intent: 'count to three', volume_id })),
  row('execute.status', 'pipeline_execution_id', ['pipeline', 'run']),
  row('execute.wait', 'execution_id', ['pipeline', 'run'], (execution_id) => ({ execution_id, timeout_seconds: 1 })),
];

/** Tools that take a tenant, with their other arguments. */
export const TENANT_ROWS: readonly { readonly tool: string; readonly args: (own: Things) => Args }[] = [
  { tool: 'svc.workflow.list', args: () => ({}) },
  { tool: 'svc.workflow.list', args: () => ({ scope: 'visible' }) },
  { tool: 'svc.workflow.promote', args: ({ workflowName }) => ({ name: workflowName }) },
  { tool: 'svc.workflow.demote', args: ({ workflowName }) => ({ name: workflowName, target_scope: 'user' }) },
  { tool: 'svc.workflow.executions.list', args: () => ({}) },
  { tool: 'svc.workflow.executions.list', args: ({ workflow }) => ({ workflow_id: workflow }) },
  { tool: 'svc.workflow.executions.get', args: ({ run }) => ({ execution_id: run }) },
  { tool: 'svc.workflow.status', args: ({ run }) => ({ execution_id: run }) },
];

/** Arguments that name no object, and those whose text creates an object of the caller or is only read. */
export const NAMES_NOTHING: ReadonlySet<string> = new Set([
  ...['force', 'query', 'limit', 'offset', 'next', 'min_score', 'min_confidence', 'labels', 'status', 'task_context'],
  ...['include_platform_templates', 'poll_interval_seconds', 'timeout_seconds', 'scope', 'target_scope', 'version'],
  ...['intent', 'input', 'inputs', 'blackboard', 'response', 'feedback', 'reason', 'prompt', 'language', 'key', 'kind'],
  ...['svc.agent.create manifest_yaml', 'svc.schema.validate manifest_yaml'],
  // A user of the caller's own tenant, from whose view it reads; the test of lists covers it.
  ...['svc.workflow.list user_id', 'svc.workflow.demote user_id'],
]);

/** Lists and searches, called with arguments for which they return all they can. */
export const LIST_ROWS: readonly { readonly tool: string; readonly args: (query: string) => Args }[] = [
  { tool: 'svc.agent.list', args: () => ({}) },
  { tool: 'svc.agent.search', args: (query) => ({ query, min_score: 0, limit: 100 }) },
  { tool: 'svc.workflow.list', args: () => ({}) },
  { tool: 'svc.workflow.list', args: () => ({ scope: 'visible' }) },
  { tool: 'svc.workflow.list', args: () => ({ scope: 'global' }) },
  { tool: 'svc.workflow.list', args: () => ({ scope: 'visible', user_id: 'andy' }) },
  { tool: 'svc.workflow.search', args: (query) => ({ query, min_score: 0, limit: 100 }) },
  { tool: 'svc.workflow.executions.list', args: () => ({ limit: 1_000 }) },
  { tool: 'svc.task.list', args: () => ({ limit: 1_000 }) },
  { tool: 'svc.approval.list', args: () => ({ limit: 1_000 }) },
];

const OWNABLE: ReadonlySet<string> = new Set<keyof OwnThings & keyof Things>([
  ...(['agent', 'agentName', 'workflow', 'workflowName'] as const),
  ...(['execution', 'running', 'run', 'endedRun', 'approval', 'volume', 'trace'] as const),
]);

/** Objects that a user can own alone. */
export const isOwnable = (thing: keyof Things): thing is keyof OwnThings & keyof Things => OWNABLE.has(thing);

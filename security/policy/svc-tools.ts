/** Tools of svc itself by who may call them (original-facts 4, Tool tiers; names of spec 3). */

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

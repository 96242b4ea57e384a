/** An argument as a table of the specification has it. */
interface SpecifiedArgument {
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array';
  /** `*` there. */
  readonly required?: true;
  readonly default?: unknown;
  readonly oneOf?: readonly string[];
  /** Refused below, and above. */
  readonly min?: number;
  readonly max?: number;
  /** Taken, but as this. */
  readonly cap?: number;
}

interface SpecifiedTool {
  readonly arguments: Readonly<Record<string, SpecifiedArgument>>;
  /** Fields of the result, or of each of the results it may have; `results[].id` of each that is in a list. */
  readonly results: readonly (readonly string[])[];
}

type Arguments = SpecifiedTool['arguments'];

const text = { type: 'string' } as const;
const needed = { type: 'string', required: true } as const;
const values = { type: 'object' } as const;
const valuesOrNone = { type: 'object', default: {} } as const;
const force = { type: 'boolean', default: false } as const;
const offset = { type: 'integer', default: 0 } as const;
const score = (usual: number): SpecifiedArgument => ({ type: 'number', default: usual, min: 0, max: 1 });
const limit = (usual: number, cap?: number): SpecifiedArgument => ({
  ...{ type: 'integer', default: usual },
  ...(cap === undefined ? {} : { cap }),
});
const seconds = (usual: number, min?: number): SpecifiedArgument => ({
  ...{ type: 'number', default: usual },
  ...(min === undefined ? {} : { min }),
});
const oneOf = (names: readonly string[], usual?: string): SpecifiedArgument => ({
  ...{ type: 'string', oneOf: names },
  ...(usual === undefined ? {} : { default: usual }),
});

const tool = (args: Arguments, ...results: readonly (readonly string[])[]): SpecifiedTool => ({
  arguments: args,
  results,
});

const deploy = { manifest_yaml: needed, force };
const byName = { name: needed };
const byExecution = { execution_id: needed };
const taskWait = { execution_id: needed, poll_interval_seconds: seconds(10, 1), timeout_seconds: seconds(300, 1) };
const workflowWait = { execution_id: needed, poll_interval_seconds: seconds(5), timeout_seconds: seconds(300) };
const search = {
  ...{ query: needed, limit: limit(10), min_score: score(0.3), labels: values },
  include_platform_templates: { type: 'boolean', default: true },
} as const;
const logs = { execution_id: needed, limit: limit(50, 200), offset };

const each = (list: string, fields: readonly string[]): string[] => fields.map((field) => `${list}[].${field}`);
const hits = [
  'tool',
  'query',
  ...each('results', ['id', 'name', 'version', 'description', 'labels', 'score']),
  'total',
];
const started = ['execution_id', 'status'];
const page = ['total', 'limit', 'offset'];
const taskEnd = ['status', 'iteration_count', 'last_output', 'last_error', 'started_at', 'ended_at'];
const runs = ['execution_id', 'workflow_id', 'status', 'current_state', 'started_at', 'last_transition_at'];
const runEnd = [...runs, 'blackboard'];
const runGoesOn = ['execution_id', 'status', 'current_state', 'timed_out'];
const listed = [...each('tools', ['name', 'description', 'source', 'skip_judge'])];
const event = ['sequence', 'event_type', 'payload', 'recorded_at'];

/** The tools svc.* (W34–W41), row by row, written down by hand and not taken from the code. */
export const SPECIFIED_TABLES: Readonly<Record<string, SpecifiedTool>> = {
  // Agent tools
  'svc.agent.create': tool(deploy, ['agent_id', 'deployed']),
  'svc.agent.update': tool(deploy, ['agent_id']),
  'svc.agent.export': tool(byName, ['manifest_yaml', 'metadata']),
  'svc.agent.delete': tool({ agent_id: needed, force: { type: 'boolean' } }, ['agent_id', 'deleted']),
  'svc.agent.generate': tool({ input: needed }, started),
  'svc.agent.list': tool({}, each('agents', ['id', 'name', 'version', 'status', 'labels'])),
  'svc.agent.search': tool({ ...search, status: text }, hits),
  'svc.agent.logs': tool({ agent_id: needed, limit: limit(50), offset }, [
    ...['tool', 'agent_id', ...each('events', ['event_type', 'payload', 'recorded_at']), ...page],
  ]),
  'svc.agent.wait': tool(taskWait, taskEnd),

  // Workflow tools
  'svc.workflow.create': tool(
    {
      ...{ ...deploy, task_context: text, judge_agents: { type: 'array', default: ['code-quality-judge'] } },
      ...{ min_score: score(0.8), min_confidence: score(0.7) },
    },
    ['workflow_id', 'deployed'],
  ),
  'svc.workflow.update': tool(deploy, ['workflow_id']),
  'svc.workflow.validate': tool({ manifest_yaml: needed }, ['valid']),
  'svc.workflow.export': tool(byName, ['manifest_yaml', 'metadata']),
  'svc.workflow.delete': tool({ ...byName, force: { type: 'boolean' } }, ['workflow_id', 'deleted']),
  'svc.workflow.run': tool(
    { name: needed, intent: text, input: valuesOrNone, blackboard: values, version: text },
    started,
  ),
  'svc.workflow.list': tool(
    { tenant_id: text, scope: oneOf(['global', 'visible']), user_id: text },
    each('workflows', ['id', 'name', 'version', 'initial_state']),
  ),
  'svc.workflow.search': tool(search, hits),
  'svc.workflow.generate': tool({ input: needed }, started),
  'svc.workflow.executions.list': tool({ workflow_id: text, limit: limit(20), offset, tenant_id: text }, [
    ...each('executions', runs),
    ...page,
  ]),
  'svc.workflow.executions.get': tool({ execution_id: needed, tenant_id: text }, [
    ...['status', 'input', 'blackboard', 'state_outputs', 'started_at', 'last_transition_at', 'ended_at'],
  ]),
  'svc.workflow.status': tool({ execution_id: needed, tenant_id: text }, runs),
  'svc.workflow.logs': tool(logs, [
    ...['tool', 'execution_id', 'status', ...each('events', [...event, 'state_name', 'iteration_number']), ...page],
  ]),
  'svc.workflow.cancel': tool(byExecution, ['cancelled', 'execution_id'], ['cancelled', 'error']),
  'svc.workflow.wait': tool(workflowWait, runEnd, runGoesOn),
  'svc.workflow.signal': tool(
    { execution_id: needed, response: needed },
    ['signalled', 'execution_id'],
    ['signalled', 'error'],
  ),
  'svc.workflow.remove': tool(byExecution, ['removed', 'execution_id'], ['removed', 'error']),
  'svc.workflow.promote': tool({ name: needed, target_scope: oneOf(['tenant', 'global'], 'global'), tenant_id: text }, [
    'workflow_id',
    'name',
    'promoted',
    'target_scope',
  ]),
  'svc.workflow.demote': tool(
    { name: needed, target_scope: oneOf(['tenant', 'user'], 'tenant'), user_id: text, tenant_id: text },
    ['workflow_id', 'name', 'demoted', 'target_scope'],
  ),

  // Task (agent execution) tools
  'svc.task.execute': tool({ agent_id: needed, intent: text, input: valuesOrNone, version: text }, started),
  'svc.task.status': tool(byExecution, taskEnd),
  'svc.task.wait': tool(taskWait, taskEnd),
  'svc.task.list': tool(
    { agent_id: text, limit: limit(20) },
    each('executions', ['id', 'agent_id', 'status', 'started_at']),
  ),
  'svc.task.logs': tool(logs, ['tool', 'execution_id', 'status', ...each('events', event), ...page]),
  'svc.task.cancel': tool(byExecution, ['execution_id', 'cancelled']),
  'svc.task.remove': tool(byExecution, ['execution_id', 'removed']),

  // Tool discovery, execute pipeline, system, schema, runtime
  'svc.tools.list': tool({}, ['tool', ...listed, 'total']),
  'svc.tools.search': tool({ query: text }, ['tool', ...listed, 'total']),
  'svc.execute.intent': tool(
    {
      ...{ intent: needed, inputs: values, language: oneOf(['python', 'javascript', 'bash'], 'python') },
      ...{ volume_id: text, timeout_seconds: { type: 'integer' } },
    },
    ['pipeline_execution_id', 'status', 'stream_url'],
  ),
  'svc.execute.status': tool(
    { pipeline_execution_id: needed },
    ['status'],
    ['status', 'final_result', 'duration_ms', 'reused_existing_agent'],
    ['status', 'reason', 'failed_at_state'],
  ),
  'svc.execute.wait': tool(workflowWait, runEnd, runGoesOn),
  'svc.execute': tool({ prompt: needed }, ['pipeline_execution_id', 'status', 'stream_url']),
  'svc.system.info': tool({}, ['version', 'status', 'capabilities']),
  'svc.system.config': tool({}, ['config_path', 'content_yaml']),
  'svc.schema.get': tool({ key: { ...needed, oneOf: ['agent/manifest/v1', 'workflow/manifest/v1'] } }, []),
  'svc.schema.validate': tool({ kind: { ...needed, oneOf: ['agent', 'workflow'] }, manifest_yaml: needed }, ['valid']),
  'svc.runtime.list': tool({ language: text }, [
    ...['tool', ...each('runtimes', ['language', 'version', 'image', 'description', 'deprecated'])],
    'custom_runtime_supported',
  ]),

  // Approvals, which the specification has over REST only
  'svc.approval.list': tool({ limit: limit(20, 1_000), offset }, [
    ...each('pending_requests', ['id', 'execution_id', 'prompt', 'created_at', 'timeout_seconds']),
    ...['count', 'limit', 'offset'],
  ]),
  'svc.approval.approve': tool({ request_id: needed, feedback: text }, ['status', 'request_id']),
  'svc.approval.reject': tool({ request_id: needed, reason: needed }, ['status', 'request_id']),

  // Traces, which the specification does not have
  'svc.trace.why': tool(byExecution, ['waiting', 'sentence', 'chain']),
  'svc.trace.get': tool({ ...byExecution, trace_id: text, limit: limit(100, 1_000), next: text }, [
    ...['trace_id', 'root', 'status', 'started_at', 'ended_at', 'deliveries', 'effects', 'next'],
  ]),
};

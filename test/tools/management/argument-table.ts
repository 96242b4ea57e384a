import type { ArgumentRules } from '../argument-table.ts';

const ID = '11111111-2222-4333-8444-555555555555';
const manifest = { manifest_yaml: 'kind: Agent' };
const badName = [1, '', 'a\0b', 'x'.repeat(257), [], {}];
const badId = [1, '', 'not-a-uuid', `${ID}0`, {}, []];
const badManifest = [1, '', 'a\0b', {}, 'x'.repeat(1024 * 1024 + 1)];
const badFlag = ['true', 1, {}];
const badLimit = [0, -1, 1.5, '1', {}];
const badOffset = [-1, 1.5, '0', 1_000_001];
const badTenant = [1, '', 'Acme', 'a_b', '-a', 'x'.repeat(64)];
const badFraction = [-0.1, 1.1, '0.5'];
const badObject = [1, 'x', []];
const badVersion = [1, '', 'x'.repeat(65)];
const badUser = [1, '', 'a\0b', 'x'.repeat(257)];
const badText = [1, {}, 'x'.repeat(65_537)];
const page = { limit: badLimit, offset: badOffset };
const taskWait = { execution_id: badId, poll_interval_seconds: [0, 0.5, '1', -1], timeout_seconds: [0, 0.5, '1', -1] };
const search = {
  query: [1, '', '  ', 'x'.repeat(4_097)],
  limit: badLimit,
  min_score: badFraction,
  labels: [1, [], { a: 1 }],
  include_platform_templates: badFlag,
};
const deploy = { right: manifest, required: ['manifest_yaml'], wrong: { manifest_yaml: badManifest, force: badFlag } };
const byExecution = { right: { execution_id: ID }, required: ['execution_id'], wrong: { execution_id: badId } };
const words = { required: ['input'], wrong: { input: [1, '', ' \n', 'x'.repeat(65_537)] } };
const byName = { right: { name: 'a' }, required: ['name'], wrong: { name: badName } };

/** Of every tool svc.*: arguments that are right, and for each argument values that are not. `*` is required (W29). */
export const MANAGEMENT_ARGUMENTS: Readonly<Record<string, ArgumentRules>> = {
  'svc.agent.create': deploy,
  'svc.agent.update': deploy,
  'svc.agent.export': byName,
  'svc.agent.delete': { right: { agent_id: ID }, required: ['agent_id'], wrong: { agent_id: badId, force: badFlag } },
  'svc.agent.list': { right: {}, required: [], wrong: {} },
  'svc.agent.search': {
    right: { query: 'mail' },
    required: ['query'],
    wrong: { ...search, status: [1, 'x'.repeat(65)] },
  },
  'svc.agent.logs': { right: { agent_id: ID }, required: ['agent_id'], wrong: { agent_id: badName, ...page } },
  'svc.agent.wait': { right: { execution_id: ID }, required: ['execution_id'], wrong: taskWait },
  'svc.agent.generate': { right: { input: 'a greeter' }, ...words },
  'svc.workflow.generate': { right: { input: 'a greeting' }, ...words },
  'svc.execute': { right: { prompt: 'a goal' }, required: ['prompt'], wrong: { prompt: words.wrong.input } },
  'svc.execute.intent': {
    // With a volume that is not there: nothing starts.
    right: { intent: 'a goal', volume_id: ID },
    required: ['intent'],
    wrong: {
      intent: words.wrong.input,
      inputs: [...badObject, { a: 'x'.repeat(100_001) }],
      language: ['ruby', 1],
      volume_id: badId,
      timeout_seconds: [0, 1.5, '1'],
    },
  },
  'svc.execute.status': {
    right: { pipeline_execution_id: ID },
    required: ['pipeline_execution_id'],
    wrong: { pipeline_execution_id: badId },
  },
  'svc.workflow.create': {
    ...deploy,
    wrong: {
      ...deploy.wrong,
      task_context: badText,
      judge_agents: ['judge', [], [1], [''], Array.from({ length: 21 }, (_one, index) => `judge-${index}`)],
      min_score: badFraction,
      min_confidence: badFraction,
    },
  },
  'svc.workflow.update': deploy,
  'svc.workflow.validate': { ...deploy, wrong: { manifest_yaml: badManifest } },
  'svc.workflow.export': byName,
  'svc.workflow.delete': { ...byName, wrong: { ...byName.wrong, force: badFlag } },
  'svc.workflow.run': {
    right: { name: 'a' },
    required: ['name'],
    wrong: { name: badName, intent: badText, input: badObject, blackboard: badObject, version: badVersion },
  },
  'svc.workflow.list': {
    right: {},
    required: [],
    wrong: { tenant_id: badTenant, scope: ['tenant', 'user', 1], user_id: badUser },
  },
  'svc.workflow.search': { right: { query: 'mail' }, required: ['query'], wrong: search },
  'svc.workflow.executions.list': {
    right: {},
    required: [],
    wrong: { workflow_id: badName, ...page, tenant_id: badTenant },
  },
  'svc.workflow.executions.get': { ...byExecution, wrong: { execution_id: badId, tenant_id: badTenant } },
  'svc.workflow.status': { ...byExecution, wrong: { execution_id: badId, tenant_id: badTenant } },
  'svc.workflow.logs': { ...byExecution, wrong: { execution_id: badId, ...page } },
  'svc.workflow.cancel': byExecution,
  'svc.execute.wait': {
    ...byExecution,
    wrong: { execution_id: badId, poll_interval_seconds: ['1', -1], timeout_seconds: ['1', -1] },
  },
  'svc.workflow.wait': {
    ...byExecution,
    wrong: { execution_id: badId, poll_interval_seconds: ['1', -1], timeout_seconds: ['1', -1] },
  },
  'svc.workflow.signal': {
    right: { execution_id: ID, response: 'yes' },
    required: ['execution_id', 'response'],
    wrong: { execution_id: badId, response: badText },
  },
  'svc.workflow.remove': byExecution,
  'svc.workflow.promote': {
    ...byName,
    wrong: { name: badName, target_scope: ['user', 1], tenant_id: badTenant },
  },
  'svc.workflow.demote': {
    ...byName,
    wrong: { name: badName, target_scope: ['global', 1], user_id: badUser, tenant_id: badTenant },
  },
  'svc.task.execute': {
    right: { agent_id: 'a' },
    required: ['agent_id'],
    wrong: { agent_id: badName, intent: badText, input: badObject, version: badVersion },
  },
  'svc.task.status': byExecution,
  'svc.task.wait': { ...byExecution, wrong: taskWait },
  'svc.task.list': { right: {}, required: [], wrong: { agent_id: badName, limit: badLimit } },
  'svc.task.logs': { ...byExecution, wrong: { execution_id: badId, ...page } },
  'svc.task.cancel': byExecution,
  'svc.task.remove': byExecution,
  'svc.approval.list': { right: {}, required: [], wrong: page },
  'svc.approval.approve': {
    right: { request_id: ID },
    required: ['request_id'],
    wrong: { request_id: badId, feedback: badText },
  },
  'svc.approval.reject': {
    right: { request_id: ID, reason: 'no' },
    required: ['request_id', 'reason'],
    wrong: { request_id: badId, reason: [...badText, ''] },
  },
  'svc.trace.why': byExecution,
  'svc.trace.get': {
    ...byExecution,
    wrong: {
      execution_id: badId,
      trace_id: [1, '', 'A'.repeat(32)],
      limit: badLimit,
      next: [1, '', 'x'.repeat(8_001)],
    },
  },
  'svc.tools.list': { right: {}, required: [], wrong: {} },
  'svc.tools.search': { right: { query: 'x' }, required: [], wrong: { query: [1, {}, 'x'.repeat(1_001)] } },
  'svc.system.info': { right: {}, required: [], wrong: {} },
  'svc.system.config': { right: {}, required: [], wrong: {} },
  'svc.schema.get': {
    right: { key: 'agent/manifest/v1' },
    required: ['key'],
    wrong: { key: [1, '', 'agent/manifest/v2', 'node/manifest/v1'] },
  },
  'svc.schema.validate': {
    right: { kind: 'agent', ...manifest },
    required: ['kind', 'manifest_yaml'],
    wrong: { kind: [1, '', 'Agent', 'NodeConfig'], manifest_yaml: badManifest },
  },
  'svc.runtime.list': { right: {}, required: [], wrong: { language: [1, '', 'x'.repeat(51)] } },
};

/** What absent arguments become, and what is capped: [tool, given, as the handler sees it]. */
export const TAKEN_AS: readonly (readonly [string, object, object])[] = [
  ['svc.agent.create', manifest, { force: false }],
  ['svc.agent.search', { query: ' a ' }, { query: 'a', limit: 10, min_score: 0.3, include_platform_templates: true }],
  ['svc.agent.search', { query: 'a', limit: 1_000 }, { limit: 100 }],
  ['svc.agent.logs', { agent_id: 'a' }, { limit: 50, offset: 0 }],
  ['svc.agent.logs', { agent_id: 'a', limit: 201 }, { limit: 200 }],
  ['svc.trace.get', { execution_id: ID, limit: 1_001 }, { limit: 1_000 }],
  ['svc.approval.list', {}, { limit: 20, offset: 0 }],
  ['svc.approval.list', { limit: 1_001 }, { limit: 1_000 }],
  ['svc.agent.delete', { agent_id: ID.toUpperCase() }, { agent_id: ID }],
  ['svc.agent.wait', { execution_id: ID }, { poll_interval_seconds: 10, timeout_seconds: 300 }],
  [
    'svc.workflow.create',
    manifest,
    { force: false, judge_agents: ['code-quality-judge'], min_score: 0.8, min_confidence: 0.7 },
  ],
  ['svc.workflow.run', { name: 'a' }, { input: {} }],
  ['svc.workflow.search', { query: 'a' }, { limit: 10, min_score: 0.3, include_platform_templates: true }],
  ['svc.workflow.executions.list', {}, { limit: 20, offset: 0 }],
  ['svc.workflow.executions.list', { limit: 2_000 }, { limit: 1_000 }],
  ['svc.workflow.logs', { execution_id: ID }, { limit: 50, offset: 0 }],
  ['svc.workflow.logs', { execution_id: ID, limit: 5_000 }, { limit: 200 }],
  ['svc.execute.intent', { intent: 'a' }, { language: 'python' }],
  ['svc.execute.wait', { execution_id: ID }, { poll_interval_seconds: 5, timeout_seconds: 300 }],
  ['svc.workflow.wait', { execution_id: ID }, { poll_interval_seconds: 5, timeout_seconds: 300 }],
  ['svc.workflow.wait', { execution_id: ID, timeout_seconds: 3_600 }, { timeout_seconds: 600 }],
  ['svc.workflow.promote', { name: 'a' }, { target_scope: 'global' }],
  ['svc.workflow.demote', { name: 'a' }, { target_scope: 'tenant' }],
  ['svc.task.execute', { agent_id: 'a' }, { input: {} }],
  ['svc.task.wait', { execution_id: ID }, { poll_interval_seconds: 10, timeout_seconds: 300 }],
  ['svc.task.wait', { execution_id: ID, timeout_seconds: 3_600 }, { timeout_seconds: 600 }],
  ['svc.task.list', {}, { limit: 20 }],
  ['svc.task.list', { limit: 9_999 }, { limit: 1_000 }],
  ['svc.task.logs', { execution_id: ID, limit: 201 }, { limit: 200, offset: 0 }],
];

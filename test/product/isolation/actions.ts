import { agentYaml } from '../product-node.ts';
import { DONE, workflowText } from '../tenant-objects.ts';
import { jsonAsk, type Question, toolQuestion } from './asker.ts';
import type { Kind, Made, Scope } from './model.ts';

/** Request that creates something, and the field of the answer with its id. */
interface Making {
  readonly kind: Kind;
  readonly question: Question;
  readonly idField: string;
}

const yaml = (path: string, body: string): Question => ({
  method: 'POST',
  path,
  ask: { body, headers: { 'content-type': 'application/yaml' } },
});
const json = (method: string, path: string, body: object): Question => ({ method, path, ask: jsonAsk(body) });

const gate = (word: string) => ({ kind: 'Human', prompt: `May ${word}?`, transitions: [{ target: 'done' }] });
const flow = (name: string, word: string): string =>
  workflowText(name, { gate: gate(word), done: { ...DONE, env: { said: word } } });

/** Names are shared between tenants on purpose; `word` occurs only in the created object. */
export const MAKE: Readonly<Record<string, (at: { name: string; word: string; scope: Scope }) => Making>> = {
  agent: ({ name, word, scope }) => ({
    kind: 'agent',
    question: yaml(
      `/v1/agents?force=true&scope=${scope}`,
      agentYaml(name, { task: { prompt_template: `${word} {{input}}` } }),
    ),
    idField: 'agent_id',
  }),
  workflow: ({ name, word, scope }) => ({
    kind: 'workflow',
    question: yaml(`/v1/workflows?force=true&scope=${scope}`, flow(name, word)),
    idField: 'workflow_id',
  }),
  volume: ({ word }) => ({ kind: 'volume', question: json('POST', '/v1/volumes', { name: word }), idField: 'id' }),
  key: ({ word }) => ({ kind: 'key', question: json('POST', '/v1/api-keys', { name: word }), idField: 'id' }),
  secret: ({ word }) => ({
    kind: 'secret',
    question: json('PUT', `/v1/secrets/${word}`, { value: `of ${word}` }),
    idField: 'path',
  }),
  pattern: ({ word }) => ({
    kind: 'pattern',
    question: json('POST', '/v1/cortex/patterns', {
      ...{ error_signature: `${word} broke`, error_type: 'io', error_message: word, solution_approach: word },
    }),
    idField: 'pattern_id',
  }),
};

/** Starts of deployed agents and workflows. */
export const start = (kind: 'agent' | 'workflow', id: string, word: string): Question =>
  kind === 'agent'
    ? json('POST', '/v1/executions', { agent_id: id, input: word })
    : json('POST', `/v1/workflows/${id}/run`, { intent: word });

/** Requests that read one object by its id, or change it. */
export const LOOK: Readonly<Record<Kind, readonly ((id: string) => Question)[]>> = {
  agent: [
    (id) => ({ method: 'GET', path: `/v1/agents/${id}` }),
    (id) => ({ method: 'GET', path: `/v1/agents/${id}/versions` }),
    (id) => toolQuestion('svc.agent.export', { name: id }),
    (id) => toolQuestion('svc.agent.logs', { agent_id: id }),
  ],
  workflow: [
    (id) => ({ method: 'GET', path: `/v1/workflows/${id}` }),
    (id) => toolQuestion('svc.workflow.export', { name: id }),
  ],
  execution: [
    (id) => ({ method: 'GET', path: `/v1/executions/${id}` }),
    (id) => ({ method: 'GET', path: `/v1/executions/${id}/events` }),
    (id) => toolQuestion('svc.task.logs', { execution_id: id }),
    (id) => ({ method: 'GET', path: `/v1/executions/${id}/why` }),
    (id) => toolQuestion('svc.trace.why', { execution_id: id }),
    (id) => toolQuestion('svc.trace.get', { execution_id: id }),
  ],
  run: [
    (id) => ({ method: 'GET', path: `/v1/workflows/executions/${id}` }),
    (id) => toolQuestion('svc.workflow.executions.get', { execution_id: id }),
    (id) => ({ method: 'GET', path: `/v1/workflows/executions/${id}/why` }),
    (id) => toolQuestion('svc.trace.why', { execution_id: id }),
    (id) => toolQuestion('svc.trace.get', { execution_id: id }),
    (id) => toolQuestion('svc.workflow.logs', { execution_id: id }),
  ],
  volume: [(id) => ({ method: 'GET', path: `/v1/volumes/${id}` })],
  key: [(id) => ({ method: 'GET', path: `/v1/api-keys/${id}` })],
  secret: [(id) => ({ method: 'GET', path: `/v1/secrets/${id}` })],
  pattern: [(id) => ({ method: 'GET', path: `/v1/cortex/patterns?error_signature=${id}` })],
};

/** Requests that end or delete an object. */
export function end({ kind }: Made, id: string): Question | null {
  if (kind === 'agent') return { method: 'DELETE', path: `/v1/agents/${id}?force=true` };
  if (kind === 'workflow') return { method: 'DELETE', path: `/v1/workflows/${id}?force=true` };
  if (kind === 'execution') return json('POST', `/v1/executions/${id}/cancel`, {});
  if (kind === 'run') return json('POST', `/v1/workflows/executions/${id}/cancel`, {});
  if (kind === 'volume') return { method: 'DELETE', path: `/v1/volumes/${id}` };
  if (kind === 'secret') return { method: 'DELETE', path: `/v1/secrets/${id}` };
  return null;
}

export const MOVES = [
  { action: 'promote', target_scope: 'tenant' },
  { action: 'promote', target_scope: 'global' },
  { action: 'demote', target_scope: 'tenant' },
  { action: 'demote', target_scope: 'user' },
] as const;

export const move = (kind: Kind, id: string, body: object): Question => json('POST', `/v1/${kind}s/${id}/scope`, body);

/** Lists and searches. Strict: those of the catalog, which drops an object at once. */
export const LISTS: readonly { readonly isStrict: boolean; readonly question: (words: string) => Question }[] = [
  ...['/v1/agents?scope=visible', '/v1/agents', '/v1/workflows?scope=visible', '/v1/workflows'].map((path) => ({
    isStrict: true,
    question: () => ({ method: 'GET', path }),
  })),
  ...['svc.agent.search', 'svc.workflow.search'].map((tool) => ({
    isStrict: true,
    question: (query: string) => toolQuestion(tool, { query, min_score: 0, limit: 100 }),
  })),
  ...[
    'executions?limit=1000',
    'workflows/executions',
    'human-approvals',
    'stimuli',
    'volumes',
    'secrets',
    'api-keys',
  ].map((path) => ({ isStrict: false, question: () => ({ method: 'GET', path: `/v1/${path}` }) })),
  ...['cortex/patterns', 'api-keys?all=true', 'seal/sessions'].map((path) => ({
    isStrict: false,
    question: () => ({ method: 'GET', path: `/v1/${path}` }),
  })),
  { isStrict: false, question: () => toolQuestion('svc.task.list', { limit: 1_000 }) },
  { isStrict: false, question: () => toolQuestion('svc.workflow.executions.list', { limit: 1_000 }) },
];

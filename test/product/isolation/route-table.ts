import { agentYaml } from '../product-node.ts';
import { DONE, workflowText } from '../tenant-objects.ts';
import { jsonAsk, type Question } from './asker.ts';
import type { Things } from './isolated-tenants.ts';

/** Objects that routes name in addition to those of the tables of tools. */
export type Named = Things & {
  /** A record of a tool session. */
  readonly session: string;
  /** An API key itself, not its id. */
  readonly keyText: string;
};

/** A name or id that a route takes outside of its path, or a path without an object in test/product/surface.ts. */
export interface RouteRow {
  readonly route: string;
  readonly field: string;
  readonly things: readonly (keyof Named)[];
  readonly question: (name: string) => Question;
}

const posted = (path: string, body: (name: string) => object) => (name: string) => ({
  method: 'POST',
  path,
  ask: jsonAsk(body(name)),
});
const deployed = (path: string, text: (name: string) => string) => (name: string) => ({
  method: 'POST',
  path,
  ask: { body: text(name), headers: { 'content-type': 'application/yaml' } },
});
const queried = (path: string, field: string) => (name: string) => ({
  method: 'GET',
  path: `${path}?${field}=${encodeURIComponent(name)}`,
});
const session = (method: string, behind: string) => (name: string) => ({
  method,
  path: `/v1/seal/sessions/${name}${behind}`,
  ...(method === 'POST' ? { ask: jsonAsk({}) } : {}),
});
const actor =
  (kind: string, behind = '') =>
  (name: string) => ({ method: 'GET', path: `/v1/actors/${kind}/${name}${behind}` });
const names = (agent: string): string =>
  workflowText('names-an-agent', {
    a: { kind: 'Agent', agent, transitions: [{ condition: 'on_success', target: 'done' }] },
    done: DONE,
  });
const attested = (given: object) =>
  posted('/v1/seal/attest', (name) => ({
    ...{
      agent_id: name,
      execution_id: name,
      container_id: name,
      agent_public_key: Buffer.alloc(32, 7).toString('base64'),
    },
    ...given,
  }));

const row = (
  route: string,
  field: string,
  things: readonly (keyof Named)[],
  question: RouteRow['question'],
): RouteRow => ({ route, field, things, question });

const AGENTS = ['agent', 'agentName'] as const;
const WORKFLOWS = ['workflow', 'workflowName'] as const;
const EXECUTIONS = ['execution', 'running'] as const;
const RUNS = ['run', 'endedRun'] as const;

export const ROUTE_ROWS: readonly RouteRow[] = [
  row(
    'POST /v1/executions',
    'agent_id',
    AGENTS,
    posted('/v1/executions', (agent_id) => ({ agent_id, input: 'x' })),
  ),
  row(
    'POST /v1/executions',
    'workflow_execution_id',
    RUNS,
    // An agent that ships with the product: visible to every caller.
    posted('/v1/executions', (workflow_execution_id) => ({
      ...{ agent_id: 'output-formatter', input: 'x' },
      workflow_execution_id,
    })),
  ),
  row('GET /v1/executions', 'agent_id', AGENTS, queried('/v1/executions', 'agent_id')),
  row('GET /v1/executions', 'workflow_execution_id', RUNS, queried('/v1/executions', 'workflow_execution_id')),
  row('POST /v1/agents/validate', 'manifest_yaml', ['agentName'], deployed('/v1/agents/validate', agentYaml)),
  row(
    'POST /v1/execute/intent',
    'volume_id',
    ['volume'],
    posted('/v1/execute/intent', (volume_id) => ({ intent: 'x', volume_id })),
  ),
  row('POST /v1/workflows', 'manifest_yaml', AGENTS, deployed('/v1/workflows?force=true', names)),
  row('POST /v1/workflows/validate', 'manifest_yaml', AGENTS, deployed('/v1/workflows/validate', names)),
  row('GET /v1/workflows/executions', 'workflow_id', WORKFLOWS, queried('/v1/workflows/executions', 'workflow_id')),
  row(
    'POST /v1/stimuli',
    'source',
    ['source'],
    posted('/v1/stimuli', (source) => ({ source, content: 'x' })),
  ),
  row('PUT /v1/stimuli/routes/{source}', 'workflow', WORKFLOWS, (workflow) => ({
    method: 'PUT',
    path: '/v1/stimuli/routes/of-the-asker',
    ask: jsonAsk({ workflow }),
  })),
  row('POST /v1/seal/attest', 'agent_id', ['agent'], attested({})),
  row('POST /v1/seal/attest', 'execution_id', EXECUTIONS, attested({})),
  row('POST /v1/seal/attest', 'container_id', EXECUTIONS, attested({})),
  row('GET /v1/seal/sessions', 'execution_id', EXECUTIONS, queried('/v1/seal/sessions', 'execution_id')),
  row('GET /v1/seal/sessions/{id}', 'id', ['session'], session('GET', '')),
  row('GET /v1/seal/sessions/{id}/audit', 'id', ['session'], session('GET', '/audit')),
  row('POST /v1/seal/sessions/{id}/revoke', 'id', ['session'], session('POST', '/revoke')),
  row(
    'POST /v1/api-keys/validate',
    'key',
    ['keyText'],
    posted('/v1/api-keys/validate', (key) => ({ key })),
  ),
  row('GET /v1/actors/{kind}/{id}', 'id', EXECUTIONS, actor('execution')),
  row('GET /v1/actors/{kind}/{id}/mailbox', 'id', EXECUTIONS, actor('execution', '/mailbox')),
  row('GET /v1/actors/{kind}/{id}/history', 'id', EXECUTIONS, actor('execution', '/history')),
  row('GET /v1/actors/{kind}/{id}/state', 'id', EXECUTIONS, actor('execution', '/state?at=x')),
  row('GET /v1/actors/{kind}/{id}/diff', 'id', EXECUTIONS, actor('execution', '/diff?to=x')),
  row('GET /v1/actors/{kind}/{id}', 'id', ['run', 'endedRun'], actor('workflow')),
  row('GET /v1/actors/{kind}/{id}', 'id', ['approval'], actor('approval')),
  row('GET /v1/actors/{kind}/{id}', 'id', ['session'], actor('tool-session')),
  row('GET /v1/runs', 'name', ['agentName', 'workflowName'], queried('/v1/runs', 'name')),
  row('GET /v1/runs', 'trace_id', ['trace'], queried('/v1/runs', 'trace_id')),
  row('GET /v1/runs', 'parent', ['execution', 'run', 'endedRun'], queried('/v1/runs', 'parent')),
  row('GET /v1/traces', 'name', ['agentName', 'workflowName'], queried('/v1/traces', 'name')),
  ...['', '/critical-path', '/summary'].map((behind) =>
    row(`GET /v1/traces/{trace_id}${behind}`, 'trace_id', ['trace'], (name) => ({
      method: 'GET',
      path: `/v1/traces/${name}${behind}`,
    })),
  ),
  ...['', '/causes', '/effects'].map((behind) =>
    row(`GET /v1/messages/{id}${behind}`, 'id', ['message'], (name) => ({
      method: 'GET',
      path: `/v1/messages/${name}${behind}`,
    })),
  ),
  row('GET /v1/secrets', 'prefix', ['secret'], queried('/v1/secrets', 'prefix')),
];

/**
 * Fields of the fleet or of its limits, for operators, who belong to no tenant; and fields that always name the
 * caller's own.
 */
export const NO_THING: ReadonlySet<string> = new Set([
  ...['GET', 'PUT', 'DELETE'].flatMap((method) =>
    ['tenant', 'subject'].map((field) => `${method} /v1/admin/rate-limits/overrides ${field}`),
  ),
  ...['tenant', 'subject'].map((field) => `GET /v1/admin/rate-limits/usage ${field}`),
  // A subject of the reader's own tenant.
  'GET /v1/audit subject',
  // Positions in a stream whose id is in the path.
  ...['executions/{id}/stream', 'workflows/executions/{id}/stream', 'workflows/executions/{id}/logs/stream'].map(
    (path) => `GET /v1/${path} last_event_id`,
  ),
  // A message of the run whose id is in the path.
  'POST /v1/runs/{id}/fork message_id',
  // A stream without end; its conditions are those of GET /v1/runs.
  ...['name', 'parent', 'trace_id', 'last_event_id'].map((field) => `GET /v1/feed ${field}`),
  // Creates an agent of the caller.
  'POST /v1/agents manifest_yaml',
]);

/** Fields of queries and bodies that may name an object. */
export const mayName = (field: string): boolean =>
  /(_id|_yaml)$|^(id|name|agent|workflow|source|subject|tenant|key|parent|prefix|user|owner)$/.test(field);

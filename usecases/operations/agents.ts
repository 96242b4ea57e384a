import { z } from 'zod';
import type { CatalogScope } from '../../catalog/api.ts';
import type { Identity } from '../../runtime/identity.ts';
import { startExecution, taskInput } from '../starts/start-execution.ts';
import { IdempotencyKey } from '../starts/start-keys.ts';
import { agentNamed } from './agent-named.ts';
import { operation } from './operation.ts';
import { AgentList, AgentLogs, AgentSummary, DeployedAgent, ExecuteBody, ScopeAnswer } from './schemas/agents.ts';
import {
  DeleteQuery,
  isSet,
  ListQuery,
  listFilter,
  resultsOf,
  ScopeBody,
  SearchQuery,
  SearchResults,
  StatusBody,
  searchOf,
} from './schemas/catalog.ts';
import { RunStarted } from './schemas/executions.ts';
import { AgentIdParams, CallerHeaders, VersionQuery } from './schemas/fields.ts';
import { logFields, logPage } from './schemas/paging.ts';

const MOST_LOGS = 200;

const texts = { notFound: 'agent not found' };

const common = { tag: 'agents', needs: ['agents'] } as const;

/** The part of the catalogs that agents and workflows share. */
interface Movable<Entry> {
  promote(identity: Identity, named: string, target: 'tenant' | 'global'): Promise<Entry>;
  demote(identity: Identity, named: string, target: 'tenant' | 'user', userId?: string): Promise<Entry>;
}

/** Promotes or demotes an entry; returns it in its new scope with the fields that the answer gets. */
export async function changeScope<Entry>(
  catalog: Movable<Entry>,
  caller: Identity,
  named: string,
  body: z.output<typeof ScopeBody>,
): Promise<{ entry: Entry; done: { target_scope: CatalogScope; promoted?: true; demoted?: true } }> {
  const { target_scope } = body;
  if (body.action === 'promote') {
    const entry = await catalog.promote(caller, named, body.target_scope);
    return { entry, done: { promoted: true, target_scope } };
  }
  const entry = await catalog.demote(caller, named, body.target_scope, body.user_id);
  return { entry, done: { demoted: true, target_scope } };
}

/**
 * Operations on deployed agents (H10, H11). Deploy and export are routes of REST alone, since a deploy accepts YAML and
 * an export answers with it.
 */
export const AGENT_OPERATIONS = [
  operation({
    ...common,
    name: 'agents.list',
    summary: 'List agents',
    description: 'The latest version of each agent, by name.',
    access: 'read',
    input: { query: ListQuery },
    answer: AgentList,
    rest: { method: 'GET', path: '/v1/agents', style: 'plain', texts },
    tool: 'svc.agent.list',
    commands: ['agent list'],
    async handle({ agents }, { identity, query }) {
      const { items, ...next } = await agents.list(identity, listFilter(query));
      return { agents: items, ...next };
    },
  }),
  operation({
    tag: 'agents',
    needs: ['search'],
    name: 'agents.search',
    summary: 'Search agents',
    description: 'Agents the caller sees, by what they do; best first.',
    access: 'read',
    input: { query: SearchQuery },
    answer: SearchResults,
    rest: { method: 'GET', path: '/v1/agents/search', style: 'plain', texts, also: [409] },
    tool: 'svc.agent.search',
    commands: ['agent search'],
    handle: async ({ search }, { identity: { tenant, subject }, query }) =>
      resultsOf(query.q, await search.agents({ tenant, subject }, searchOf(query))),
  }),
  operation({
    ...common,
    name: 'agents.lookup',
    summary: 'Find an agent by its name',
    access: 'read',
    input: { params: z.object({ name: z.string().min(1) }) },
    answer: AgentSummary,
    rest: { method: 'GET', path: '/v1/agents/lookup/:name', style: 'plain', texts, also: [404] },
    handle: ({ agents }, { identity, params }) => agents.lookup(identity, params.name),
  }),
  operation({
    ...common,
    name: 'agents.get',
    summary: 'Show an agent with its manifest',
    access: 'read',
    input: {
      params: AgentIdParams,
      query: VersionQuery,
    },
    answer: DeployedAgent,
    rest: { method: 'GET', path: '/v1/agents/:id', style: 'plain', texts, also: [404] },
    commands: ['agent show', 'diff'],
    handle: async ({ agents }, { identity, params, query }) =>
      agents.get(identity, await agentNamed(agents, identity, params.id), query.version),
  }),
  operation({
    ...common,
    name: 'agents.list_versions',
    summary: 'List the versions of an agent',
    access: 'read',
    input: { params: AgentIdParams },
    answer: z.object({ versions: z.array(AgentSummary) }),
    rest: { method: 'GET', path: '/v1/agents/:id/versions', style: 'plain', texts, also: [404] },
    commands: ['agent versions'],
    handle: async ({ agents }, { identity, params }) => ({
      versions: await agents.versions(identity, await agentNamed(agents, identity, params.id)),
    }),
  }),
  operation({
    ...common,
    name: 'agents.set_status',
    summary: 'Pause or archive an agent, or put it back into service',
    description: 'Running executions continue. Versions that are deployed later get the same status.',
    access: 'write',
    input: { params: AgentIdParams, body: StatusBody },
    answer: AgentSummary,
    rest: { method: 'PATCH', path: '/v1/agents/:id', style: 'plain', texts, also: [404, 409] },
    commands: ['agent pause', 'agent resume', 'agent archive'],
    handle: async ({ agents }, { identity, params, body }) =>
      agents.setStatus(identity, await agentNamed(agents, identity, params.id), body.status),
  }),
  operation({
    ...common,
    name: 'agents.change_scope',
    summary: 'Promote or demote an agent',
    description: 'Promote: user to tenant, tenant to global. Demote: global to tenant, tenant to user.',
    access: 'write',
    input: { params: AgentIdParams, body: ScopeBody },
    answer: ScopeAnswer,
    rest: { method: 'POST', path: '/v1/agents/:id/scope', style: 'plain', texts, also: [404, 409] },
    commands: ['agent promote', 'agent demote'],
    async handle({ agents }, { identity, params, body }) {
      const named = await agentNamed(agents, identity, params.id);
      const { entry, done } = await changeScope(agents, identity, named, body);
      return { agent_id: entry.agent_id, name: entry.name, ...done };
    },
  }),
  operation({
    ...common,
    name: 'agents.delete',
    summary: 'Delete an agent with all its versions',
    description: 'Refused while executions of it run, unless forced: those keep their manifest and continue.',
    access: 'write',
    input: { params: AgentIdParams, query: DeleteQuery },
    answer: z.object({ agent_id: z.string(), deleted: z.literal(true) }),
    rest: { method: 'DELETE', path: '/v1/agents/:id', style: 'plain', texts, also: [404, 409] },
    tool: 'svc.agent.delete',
    commands: ['agent delete'],
    async handle({ agents }, { identity, params, query }) {
      const agentId = await agentNamed(agents, identity, params.id);
      await agents.delete(identity, agentId, { force: isSet(query.force) });
      return { agent_id: agentId, deleted: true as const };
    },
  }),
  operation({
    tag: 'agents',
    needs: ['agents', 'executions'],
    name: 'agents.execute',
    summary: 'Start an execution of an agent from a goal and values',
    description: 'Answers as soon as the start is durable; follow it at /v1/executions/{id}/stream.',
    access: 'run',
    input: {
      headers: CallerHeaders.extend({ 'idempotency-key': IdempotencyKey.optional() }),
      params: AgentIdParams,
      body: ExecuteBody,
    },
    answer: RunStarted,
    rest: {
      method: 'POST',
      path: '/v1/agents/:id/execute',
      style: 'plain',
      texts: { notFound: 'agent not found', bug: 'execution failed to start' },
      starts: true,
      also: [404, 409],
    },
    commands: ['agent run'],
    async handle(ports, { identity, trace, headers, params, body: { intent, input, version, labels } }) {
      const agent = await agentNamed(ports.agents, identity, params.id);
      const call = { agent, ...taskInput(intent, input), version, labels };
      const caller = { identity, trace, idempotencyKey: headers['idempotency-key'] };
      const { execution_id } = await startExecution(ports, call, caller);
      return { execution_id, status: 'started' as const };
    },
  }),
  operation({
    ...common,
    name: 'agents.list_logs',
    summary: 'List the log events of an agent',
    access: 'read',
    input: { params: AgentIdParams, query: z.object(logFields(50, MOST_LOGS)) },
    answer: AgentLogs,
    rest: { method: 'GET', path: '/v1/agents/:id/logs', style: 'plain', texts, also: [404] },
    tool: 'svc.agent.logs',
    commands: ['agent logs'],
    async handle({ agents }, { identity, params, query }) {
      const agentId = await agentNamed(agents, identity, params.id);
      const log = await logPage(query, { most: MOST_LOGS, of: `agent ${agentId}` }, (page) =>
        agents.logs(identity, agentId, page),
      );
      return { agent_id: agentId, ...log, events: log.events.map((event) => ({ ...event })) };
    },
  }),
];

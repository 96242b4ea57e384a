import { z } from 'zod';
import { commandWarnings } from '../../../manifests/agent/parse.ts';
import { runtimeWarnings } from '../../../manifests/runtime-table/table.ts';
import {
  AgentList,
  AgentLogs,
  AgentSummary,
  DeployAnswer,
  DeployedAgent,
  ExecuteAnswer,
  ExecuteBody,
  ScopeAnswer,
} from '../../../usecases/operations/schemas/agents.ts';
import {
  DeleteQuery,
  DeployBody,
  DeployQuery,
  isSet,
  ListQuery,
  listFilter,
  resultsOf,
  ScopeBody,
  SearchQuery,
  SearchResults,
  StatusBody,
  searchOf,
} from '../../../usecases/operations/schemas/catalog.ts';
import { AgentIdParams, CallerHeaders, limitField, skipField } from '../../../usecases/operations/schemas/fields.ts';
import { startExecution, taskInput } from '../../../usecases/starts/start-execution.ts';
import { IdempotencyKey } from '../../../usecases/starts/start-keys.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf, changeScope } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';
import { acceptYamlBodies } from '../signed-body.ts';
import { deployment, YamlBody } from './manifest-body.ts';

const deployAgentSchema = {
  tags: ['agents'],
  summary: 'Deploy an agent',
  description:
    'Takes the manifest as YAML, or as JSON that holds it. A second (name, version) in a scope needs `force`.',
  headers: CallerHeaders,
  querystring: DeployQuery,
  body: { content: { 'application/json': { schema: DeployBody }, 'application/yaml': { schema: YamlBody } } },
  response: { 200: DeployAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [409, 422] }) },
};

/** POST /v1/agents (H11). In a plugin of its own: only here YAML is a body. */
export function deployAgentRoute(app: RestApp, { agents, runtimes }: RestParts): void {
  app.register((plugin: RestApp, _options, done) => {
    acceptYamlBodies(plugin);
    plugin.post('/v1/agents', { config: agentRoute('write'), schema: deployAgentSchema }, async (request) => {
      const { manifest_yaml, ...options } = deployment(request.body, request.query);
      const deployed = await agents.deploy(callerOf(request), manifest_yaml, options);
      const ofRuntime = runtimes === undefined ? [] : runtimeWarnings(manifest_yaml, runtimes);
      const warnings = [...ofRuntime, ...commandWarnings(manifest_yaml)];
      return warnings.length === 0 ? deployed : { ...deployed, warnings };
    });
    done();
  });
}

const getAgentSchema = {
  tags: ['agents'],
  summary: 'Show an agent with its manifest',
  headers: CallerHeaders,
  params: AgentIdParams,
  querystring: z.object({ version: z.string().min(1).max(64).optional().describe('Default the newest.') }),
  response: { 200: DeployedAgent, ...problemSchemas({ style: 'plain', also: [404] }) },
};

/** GET /v1/agents/{id}. */
export function getAgentRoute(app: RestApp, { agents }: RestParts): void {
  app.get('/v1/agents/:id', { config: agentRoute('read'), schema: getAgentSchema }, async (request) =>
    agents.get(callerOf(request), request.params.id.toLowerCase(), request.query.version),
  );
}

const lookupAgentSchema = {
  tags: ['agents'],
  summary: 'Find an agent by its name',
  headers: CallerHeaders,
  params: z.object({ name: z.string().min(1) }),
  response: { 200: AgentSummary, ...problemSchemas({ style: 'plain', also: [404] }) },
};

/** GET /v1/agents/lookup/{name} (H10). */
export function lookupAgentRoute(app: RestApp, { agents }: RestParts): void {
  app.get('/v1/agents/lookup/:name', { config: agentRoute('read'), schema: lookupAgentSchema }, async (request) =>
    agents.lookup(callerOf(request), request.params.name),
  );
}

const listAgentsSchema = {
  tags: ['agents'],
  summary: 'List agents',
  description: 'The newest version of each agent, by name.',
  headers: CallerHeaders,
  querystring: ListQuery,
  response: { 200: AgentList, ...problemSchemas({ style: 'plain' }) },
};

/** GET /v1/agents (H10). */
export function listAgentsRoute(app: RestApp, { agents }: RestParts): void {
  app.get('/v1/agents', { config: agentRoute('read'), schema: listAgentsSchema }, async (request) => {
    const { items, ...next } = await agents.list(callerOf(request), listFilter(request.query));
    return { agents: items, ...next };
  });
}

const searchAgentsSchema = {
  tags: ['agents'],
  summary: 'Search agents',
  description: 'Agents the caller sees, by what they do; best first.',
  headers: CallerHeaders,
  querystring: SearchQuery,
  response: { 200: SearchResults, ...problemSchemas({ style: 'plain', also: [409] }) },
};

/** GET /v1/agents/search. */
export function searchAgentsRoute(app: RestApp, { search }: RestParts): void {
  if (search === undefined) return;
  app.get('/v1/agents/search', { config: agentRoute('read'), schema: searchAgentsSchema }, async (request) => {
    const { tenant, subject } = callerOf(request);
    return resultsOf(request.query.q, await search.agents({ tenant, subject }, searchOf(request.query)));
  });
}

const listAgentVersionsSchema = {
  tags: ['agents'],
  summary: 'List the versions of an agent',
  headers: CallerHeaders,
  params: AgentIdParams,
  response: {
    200: z.object({ versions: z.array(AgentSummary) }),
    ...problemSchemas({ style: 'plain', also: [404] }),
  },
};

/** GET /v1/agents/{id}/versions. */
export function listAgentVersionsRoute(app: RestApp, { agents }: RestParts): void {
  app.get(
    '/v1/agents/:id/versions',
    { config: agentRoute('read'), schema: listAgentVersionsSchema },
    async (request) => ({
      versions: await agents.versions(callerOf(request), request.params.id.toLowerCase()),
    }),
  );
}

const exportAgentSchema = {
  tags: ['agents'],
  summary: 'Get the manifest of an agent as it was deployed',
  headers: CallerHeaders,
  params: AgentIdParams,
  response: {
    200: { description: 'The manifest.', content: { 'application/yaml': { schema: z.unknown() } } },
    ...problemSchemas({ style: 'plain', also: [404] }),
  },
};

/** GET /v1/agents/{id}/export. */
export function exportAgentRoute(app: RestApp, { agents }: RestParts): void {
  app.get(
    '/v1/agents/:id/export',
    { config: agentRoute('read'), schema: exportAgentSchema },
    async (request, reply) => {
      const manifestYaml = await agents.export(callerOf(request), request.params.id.toLowerCase());
      // The text as it is: the serializer of the schema would make a JSON string of it.
      return reply
        .type('application/yaml; charset=utf-8')
        .serializer((text: string) => text)
        .send(manifestYaml);
    },
  );
}

const changeAgentSchema = {
  tags: ['agents'],
  summary: 'Pause or archive an agent, or put it back into service',
  description: 'Executions that run go on. Versions that are deployed later keep the status.',
  headers: CallerHeaders,
  params: AgentIdParams,
  body: StatusBody,
  response: { 200: AgentSummary, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409] }) },
};

/** PATCH /v1/agents/{id}. */
export function changeAgentRoute(app: RestApp, { agents }: RestParts): void {
  app.patch('/v1/agents/:id', { config: agentRoute('write'), schema: changeAgentSchema }, async (request) =>
    agents.setStatus(callerOf(request), request.params.id.toLowerCase(), request.body.status),
  );
}

const changeAgentScopeSchema = {
  tags: ['agents'],
  summary: 'Promote or demote an agent',
  description: 'Promote: user to tenant, tenant to global. Demote: global to tenant, tenant to user.',
  headers: CallerHeaders,
  params: AgentIdParams,
  body: ScopeBody,
  response: { 200: ScopeAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/agents/{id}/scope. */
export function changeAgentScopeRoute(app: RestApp, { agents }: RestParts): void {
  app.post('/v1/agents/:id/scope', { config: agentRoute('write'), schema: changeAgentScopeSchema }, async (request) => {
    const agentId = request.params.id.toLowerCase();
    const { entry, done } = await changeScope(agents, callerOf(request), agentId, request.body);
    return { agent_id: entry.agent_id, name: entry.name, ...done };
  });
}

const deleteAgentSchema = {
  tags: ['agents'],
  summary: 'Delete an agent with all its versions',
  description: 'Refused while executions of it run, unless forced: those keep their manifest and go on.',
  headers: CallerHeaders,
  params: AgentIdParams,
  querystring: DeleteQuery,
  response: {
    200: z.object({ agent_id: z.string(), deleted: z.literal(true) }),
    ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409] }),
  },
};

/** DELETE /v1/agents/{id}. */
export function deleteAgentRoute(app: RestApp, { agents }: RestParts): void {
  app.delete('/v1/agents/:id', { config: agentRoute('write'), schema: deleteAgentSchema }, async (request) => {
    const agentId = request.params.id.toLowerCase();
    await agents.delete(callerOf(request), agentId, { force: isSet(request.query.force) });
    return { agent_id: agentId, deleted: true as const };
  });
}

const executeAgentSchema = {
  tags: ['agents'],
  summary: 'Start an execution of an agent from a goal and values',
  description: 'Answers as soon as the start is durable; follow it at /v1/executions/{id}/stream.',
  headers: CallerHeaders.extend({ 'idempotency-key': IdempotencyKey.optional() }),
  params: AgentIdParams,
  body: ExecuteBody,
  response: { 200: ExecuteAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409, 422] }) },
};

const config = { ...agentRoute('run'), texts: { notFound: 'agent not found', bug: 'execution failed to start' } };

/** POST /v1/agents/{id}/execute: svc.task.execute (W36). */
export function executeAgentRoute(app: RestApp, parts: RestParts): void {
  app.post('/v1/agents/:id/execute', { config, schema: executeAgentSchema }, async (request) => {
    const { intent, input, version } = request.body;
    const key = request.headers['idempotency-key'];
    const call = {
      agent: request.params.id.toLowerCase(),
      ...taskInput(intent, input),
      ...(version === undefined ? {} : { version }),
    };
    const { execution_id } = await startExecution(parts, call, {
      identity: callerOf(request),
      trace: request.trace,
      ...(key === undefined ? {} : { idempotencyKey: key }),
    });
    return { execution_id, status: 'started' as const };
  });
}

const MOST = 200;

const listAgentLogsSchema = {
  tags: ['agents'],
  summary: 'List the log events of an agent',
  headers: CallerHeaders,
  params: AgentIdParams,
  querystring: z.object({ limit: limitField(50, MOST), offset: skipField }),
  response: { 200: AgentLogs, ...problemSchemas({ style: 'plain', also: [404] }) },
};

/** GET /v1/agents/{id}/logs: the result of svc.agent.logs (W34), oldest first. */
export function listAgentLogsRoute(app: RestApp, { agents }: RestParts): void {
  app.get('/v1/agents/:id/logs', { config: agentRoute('read'), schema: listAgentLogsSchema }, async (request) => {
    const agentId = request.params.id.toLowerCase();
    const page = { limit: Math.min(request.query.limit, MOST), offset: request.query.offset };
    const { events, total } = await agents.logs(callerOf(request), agentId, page);
    return { agent_id: agentId, events: events.map((event) => ({ ...event })), total, ...page };
  });
}

import { z } from 'zod';
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
import { CallerHeaders } from '../../../usecases/operations/schemas/fields.ts';
import {
  DeployAnswer,
  DeployedWorkflow,
  ScopeAnswer,
  ValidateAnswer,
  ValidateBody,
  WorkflowList,
  WorkflowParams,
  WorkflowSummary,
  WorkflowVersions,
} from '../../../usecases/operations/schemas/workflows.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf, changeScope } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { acceptYamlBodies } from '../signed-body.ts';
import { deployment, manifestBody, YamlBody } from './manifest-body.ts';
import {
  cancelWorkflowExecutionRoute,
  deleteWorkflowExecutionRoute,
  getWorkflowExecutionRoute,
  listWorkflowExecutionsRoute,
  listWorkflowLogsRoute,
  readerOf,
  runWorkflowRoute,
  signalWorkflowRoute,
  streamWorkflowRoutes,
  type WorkflowRouteParts,
  workflowRoute,
} from './workflow-executions.ts';

const deployWorkflowSchema = {
  tags: ['workflows'],
  summary: 'Deploy a workflow',
  description:
    'Takes the manifest as YAML, or as JSON that holds it. A second (name, version) in a scope needs `force`.',
  headers: CallerHeaders,
  querystring: DeployQuery,
  body: { content: { 'application/json': { schema: DeployBody }, 'application/yaml': { schema: YamlBody } } },
  response: { 200: DeployAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [409, 422] }) },
};

/** POST /v1/workflows (H11). In a plugin of its own: only here YAML is a body. */
function deployWorkflowRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.register((plugin: RestApp, _options, done) => {
    acceptYamlBodies(plugin);
    plugin.post('/v1/workflows', { config: workflowRoute('write'), schema: deployWorkflowSchema }, async (request) => {
      const { manifest_yaml, ...options } = deployment(request.body, request.query);
      return catalog.deploy(callerOf(request), manifest_yaml, options);
    });
    done();
  });
}

const getWorkflowSchema = {
  tags: ['workflows'],
  summary: 'Show a workflow with its manifest',
  headers: CallerHeaders,
  params: WorkflowParams,
  querystring: z.object({ version: z.string().min(1).max(64).optional().describe('Default the newest.') }),
  response: { 200: DeployedWorkflow, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/workflows/{name}. */
function getWorkflowRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.get('/v1/workflows/:name', { config: workflowRoute('read'), schema: getWorkflowSchema }, async (request) =>
    catalog.get(readerOf(callerOf(request)), request.params.name, request.query.version),
  );
}

const listWorkflowsSchema = {
  tags: ['workflows'],
  summary: 'List workflows',
  description: 'The newest version of each workflow, by name.',
  headers: CallerHeaders,
  querystring: ListQuery,
  response: { 200: WorkflowList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/workflows. */
function listWorkflowsRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.get('/v1/workflows', { config: workflowRoute('read'), schema: listWorkflowsSchema }, async (request) => {
    const { items, ...next } = await catalog.list(callerOf(request), listFilter(request.query));
    return { workflows: items, ...next };
  });
}

const searchWorkflowsSchema = {
  tags: ['workflows'],
  summary: 'Search workflows',
  description: 'Workflows the caller sees, by what they do; best first.',
  headers: CallerHeaders,
  querystring: SearchQuery,
  response: { 200: SearchResults, ...problemSchemas({ style: 'coded', also: [409] }) },
};

/** GET /v1/workflows/search. */
function searchWorkflowsRoute(app: RestApp, { search }: WorkflowRouteParts): void {
  if (search === undefined) return;
  app.get('/v1/workflows/search', { config: workflowRoute('read'), schema: searchWorkflowsSchema }, async (request) => {
    const reader = readerOf(callerOf(request));
    return resultsOf(request.query.q, await search.workflows(reader, searchOf(request.query)));
  });
}

const listWorkflowVersionsSchema = {
  tags: ['workflows'],
  summary: 'List the versions of a workflow',
  headers: CallerHeaders,
  params: WorkflowParams,
  response: { 200: WorkflowVersions, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/workflows/{name}/versions. */
function listWorkflowVersionsRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.get(
    '/v1/workflows/:name/versions',
    { config: workflowRoute('read'), schema: listWorkflowVersionsSchema },
    async (request) => ({
      versions: await catalog.versions(readerOf(callerOf(request)), request.params.name),
    }),
  );
}

const exportWorkflowSchema = {
  tags: ['workflows'],
  summary: 'Get the manifest of a workflow as it was deployed',
  headers: CallerHeaders,
  params: WorkflowParams,
  querystring: z.object({ version: z.string().min(1).max(64).optional().describe('Default the newest.') }),
  response: {
    200: { description: 'The manifest.', content: { 'application/yaml': { schema: z.unknown() } } },
    ...problemSchemas({ style: 'coded', also: [404] }),
  },
};

/** GET /v1/workflows/{name}/export. */
function exportWorkflowRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.get(
    '/v1/workflows/:name/export',
    { config: workflowRoute('read'), schema: exportWorkflowSchema },
    async (request, reply) => {
      const reader = readerOf(callerOf(request));
      const { manifest_yaml } = await catalog.get(reader, request.params.name, request.query.version);
      // The text as it is: the serializer of the schema would make a JSON string of it.
      return reply
        .type('application/yaml; charset=utf-8')
        .serializer((text: string) => text)
        .send(manifest_yaml);
    },
  );
}

const changeWorkflowSchema = {
  tags: ['workflows'],
  summary: 'Pause or archive a workflow, or put it back into service',
  description: 'Executions that run go on. Versions that are deployed later keep the status.',
  headers: CallerHeaders,
  params: WorkflowParams,
  body: StatusBody,
  response: { 200: WorkflowSummary, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** PATCH /v1/workflows/{name}. */
function changeWorkflowRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.patch('/v1/workflows/:name', { config: workflowRoute('write'), schema: changeWorkflowSchema }, async (request) =>
    catalog.setStatus(callerOf(request), request.params.name, request.body.status),
  );
}

const changeWorkflowScopeSchema = {
  tags: ['workflows'],
  summary: 'Promote or demote a workflow',
  description: 'Promote: user to tenant, tenant to global. Demote: global to tenant, tenant to user.',
  headers: CallerHeaders,
  params: WorkflowParams,
  body: ScopeBody,
  response: { 200: ScopeAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/workflows/{name}/scope: svc.workflow.promote and svc.workflow.demote (W35). */
function changeWorkflowScopeRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.post(
    '/v1/workflows/:name/scope',
    { config: workflowRoute('write'), schema: changeWorkflowScopeSchema },
    async (request) => {
      const { entry, done } = await changeScope(catalog, callerOf(request), request.params.name, request.body);
      return { workflow_id: entry.id, name: entry.name, ...done };
    },
  );
}

const deleteWorkflowSchema = {
  tags: ['workflows'],
  summary: 'Delete a workflow with all its versions',
  description: 'Refused while executions of it run, unless forced: those keep their manifest and go on.',
  headers: CallerHeaders,
  params: WorkflowParams,
  querystring: DeleteQuery,
  response: {
    200: z.object({ workflow_id: z.string(), deleted: z.literal(true) }),
    ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }),
  },
};

/** DELETE /v1/workflows/{name}. */
function deleteWorkflowRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.delete(
    '/v1/workflows/:name',
    { config: workflowRoute('write'), schema: deleteWorkflowSchema },
    async (request) => {
      const { workflow_id } = await catalog.delete(callerOf(request), request.params.name, {
        force: isSet(request.query.force),
      });
      return { workflow_id, deleted: true as const };
    },
  );
}

/** Every document has an answer here. */
const Anything = z.unknown().describe('The workflow manifest.');

const validateWorkflowSchema = {
  tags: ['workflows'],
  summary: 'Check a workflow manifest without deploying it',
  description: 'Always 200: `valid` is false when there are errors. Warnings never refuse a deploy.',
  headers: CallerHeaders,
  body: { content: { 'application/json': { schema: ValidateBody }, 'application/yaml': { schema: Anything } } },
  response: { 200: ValidateAnswer, ...problemSchemas({ style: 'coded', hasBody: true }) },
};

/** POST /v1/workflows/validate: changes nothing, so a reader may. In a plugin of its own, for the YAML. */
function validateWorkflowRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.register((plugin: RestApp, _options, done) => {
    acceptYamlBodies(plugin);
    plugin.post(
      '/v1/workflows/validate',
      { config: workflowRoute('read'), schema: validateWorkflowSchema },
      async (request) =>
        catalog.validate(readerOf(callerOf(request)), manifestBody(ValidateBody, request.body).manifest_yaml),
    );
    done();
  });
}

const ROUTES = [
  deployWorkflowRoute,
  validateWorkflowRoute,
  listWorkflowsRoute,
  searchWorkflowsRoute,
  getWorkflowRoute,
  exportWorkflowRoute,
  listWorkflowVersionsRoute,
  changeWorkflowRoute,
  changeWorkflowScopeRoute,
  deleteWorkflowRoute,
  runWorkflowRoute,
  listWorkflowExecutionsRoute,
  getWorkflowExecutionRoute,
  listWorkflowLogsRoute,
  streamWorkflowRoutes,
  signalWorkflowRoute,
  cancelWorkflowExecutionRoute,
  deleteWorkflowExecutionRoute,
];

/** /v1/workflows, where the node has workflows. */
export function workflowRoutes(app: RestApp, parts: RestParts): void {
  const { workflows } = parts;
  if (workflows === undefined) return;
  for (const route of ROUTES) route(app, { ...parts, ...workflows });
}

import { z } from 'zod';
import type { Identity } from '../../../runtime/identity.ts';
import type { WorkflowParts } from '../../../usecases/operations/operation.ts';
import { DeployBody, DeployQuery, ValidateBody } from '../../../usecases/operations/schemas/catalog.ts';
import { CallerHeaders } from '../../../usecases/operations/schemas/fields.ts';
import { DeployAnswer, ValidateAnswer, WorkflowParams } from '../../../usecases/operations/schemas/workflows.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { type Access, callerOf } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { acceptYamlBodies } from '../signed-body.ts';
import { deployment, manifestBody, YamlBody } from './manifest-body.ts';

/** The parts of a node with workflows. */
interface WorkflowRouteParts extends Omit<RestParts, 'workflows'>, WorkflowParts {}

const workflowRoute = (access: Access) => ({ access, problems: 'coded' }) as const;

const deployWorkflowSchema = {
  operationId: 'workflows.deploy',
  tags: ['workflows'],
  summary: 'Deploy a workflow',
  description:
    'Takes the manifest as YAML, or as JSON that holds it. A second (name, version) in a scope needs `force`.',
  headers: CallerHeaders,
  querystring: DeployQuery,
  body: { content: { 'application/json': { schema: DeployBody }, 'application/yaml': { schema: YamlBody } } },
  response: { 200: DeployAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [409, 422] }) },
};

/** POST /v1/workflows (H11). In a plugin of its own, since only some routes accept YAML bodies. */
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

const exportWorkflowSchema = {
  operationId: 'workflows.export',
  tags: ['workflows'],
  summary: 'Get the manifest of a workflow as it was deployed',
  headers: CallerHeaders,
  params: WorkflowParams,
  querystring: z.object({ version: z.string().min(1).max(64).optional().describe('Default: the newest.') }),
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
      // Sends the text itself: the serializer of the schema would make a JSON string of it.
      return reply
        .type('application/yaml; charset=utf-8')
        .serializer((text: string) => text)
        .send(manifest_yaml);
    },
  );
}

/** Accepts any document, since the validation answers for each. */
const Anything = z.unknown().describe('The workflow manifest.');

const validateWorkflowSchema = {
  operationId: 'workflows.validate',
  tags: ['workflows'],
  summary: 'Check a workflow manifest without deploying it',
  description: 'Always 200: `valid` is false when there are errors. Warnings never refuse a deploy.',
  headers: CallerHeaders,
  body: { content: { 'application/json': { schema: ValidateBody }, 'application/yaml': { schema: Anything } } },
  response: { 200: ValidateAnswer, ...problemSchemas({ style: 'coded', hasBody: true }) },
};

/**
 * POST /v1/workflows/validate. Changes nothing, so it needs only read access. In a plugin of its own for YAML bodies.
 */
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

const readerOf = ({ tenant, subject }: Identity) => ({ tenant, subject });

/** Adds the routes of workflows that are not in the table of operations, on nodes with workflows. */
export function workflowRoutes(app: RestApp, parts: RestParts): void {
  const { workflows } = parts;
  if (workflows === undefined) return;
  for (const route of [deployWorkflowRoute, validateWorkflowRoute, exportWorkflowRoute]) {
    route(app, { ...parts, ...workflows });
  }
}

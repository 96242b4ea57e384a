import { z } from 'zod';
import { agentWarnings, validateAgent } from '../../../catalog/manifest-reading.ts';
import { agentNamed } from '../../../usecases/operations/agent-named.ts';
import { DeployAnswer, ValidateAnswer } from '../../../usecases/operations/schemas/agents.ts';
import { DeployBody, DeployQuery, ValidateBody } from '../../../usecases/operations/schemas/catalog.ts';
import { AgentIdParams, CallerHeaders } from '../../../usecases/operations/schemas/fields.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { type Access, callerOf } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { acceptYamlBodies } from '../signed-body.ts';
import { deployment, manifestBody, YamlBody } from './manifest-body.ts';

/** Options of routes under /v1/agents: plain error bodies (H1) and the fixed text of 404 (H10). */
const agentRoute = (access: Access) => ({ access, problems: 'plain', texts: { notFound: 'agent not found' } }) as const;

/** Accepts any document, since the validation answers for each. */
const AnyText = z.unknown().describe('The agent manifest.');

const deployAgentSchema = {
  operationId: 'agents.deploy',
  tags: ['agents'],
  summary: 'Deploy an agent',
  description:
    'Takes the manifest as YAML, or as JSON that holds it. A second (name, version) in a scope needs `force`.',
  headers: CallerHeaders,
  querystring: DeployQuery,
  body: { content: { 'application/json': { schema: DeployBody }, 'application/yaml': { schema: YamlBody } } },
  response: { 200: DeployAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [409, 422] }) },
};

/** POST /v1/agents (H11). In a plugin of its own, since only this route accepts YAML bodies. */
export function deployAgentRoute(app: RestApp, { agents, runtimes, models = () => [], storage }: RestParts): void {
  app.register((plugin: RestApp, _options, done) => {
    acceptYamlBodies(plugin);
    plugin.post('/v1/agents', { config: agentRoute('write'), schema: deployAgentSchema }, async (request) => {
      const { manifest_yaml, ...options } = deployment(request.body, request.query);
      const deployed = await agents.deploy(callerOf(request), manifest_yaml, options);
      const warnings = await agentWarnings(manifest_yaml, { runtimes: runtimes ?? null, models: models(), storage });
      return warnings.length === 0 ? deployed : { ...deployed, warnings };
    });
    done();
  });
}

const validateAgentSchema = {
  operationId: 'agents.validate',
  tags: ['agents'],
  summary: 'Check an agent manifest without deploying it',
  description: 'Always 200: `valid` is false when there are errors. Warnings never refuse a deploy.',
  headers: CallerHeaders,
  body: { content: { 'application/json': { schema: ValidateBody }, 'application/yaml': { schema: AnyText } } },
  response: { 200: ValidateAnswer, ...problemSchemas({ style: 'plain', hasBody: true }) },
};

/** POST /v1/agents/validate. Changes nothing, so it needs only read access. */
export function validateAgentRoute(app: RestApp, { runtimes, models = () => [], storage }: RestParts): void {
  app.register((plugin: RestApp, _options, done) => {
    acceptYamlBodies(plugin);
    plugin.post('/v1/agents/validate', { config: agentRoute('read'), schema: validateAgentSchema }, (request) =>
      validateAgent(manifestBody(ValidateBody, request.body).manifest_yaml, {
        runtimes: runtimes ?? null,
        models: models(),
        storage,
      }),
    );
    done();
  });
}

const exportAgentSchema = {
  operationId: 'agents.export',
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
      const caller = callerOf(request);
      const manifestYaml = await agents.export(caller, await agentNamed(agents, caller, request.params.id));
      // Sends the text itself: the serializer of the schema would make a JSON string of it.
      return reply
        .type('application/yaml; charset=utf-8')
        .serializer((text: string) => text)
        .send(manifestYaml);
    },
  );
}

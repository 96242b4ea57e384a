import { commandWarnings } from '../../../manifests/agent/command-warnings.ts';
import { runtimeWarnings } from '../../../manifests/runtime-table/warnings.ts';
import { acceptYamlBodies } from '../body-parsers.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { DeployAnswer } from '../schemas/agents.ts';
import { DeployBody, DeployQuery } from '../schemas/catalog.ts';
import { CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';
import { deployment, YamlBody } from './manifest-body.ts';

const schema = {
  tags: ['agents'],
  summary: 'Deploy an agent',
  description:
    'Takes the manifest as YAML, or as JSON that holds it. A second (name, version) in a scope needs `force`.',
  headers: CallerHeaders,
  querystring: DeployQuery,
  body: { content: { 'application/json': { schema: DeployBody }, 'application/yaml': { schema: YamlBody } } },
  response: { 200: DeployAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [409, 422] }) },
};

/** POST /v1/agents (decided.md "REST beyond the specification"). In a plugin of its own: only here YAML is a body. */
export function deployAgentRoute(app: RestApp, { agents, runtimes }: RestParts): void {
  app.register((plugin: RestApp, _options, done) => {
    acceptYamlBodies(plugin);
    plugin.post('/v1/agents', { config: agentRoute('write'), schema }, async (request) => {
      const { manifest_yaml, ...options } = deployment(request.body, request.query);
      const deployed = await agents.deploy(callerOf(request), manifest_yaml, options);
      const ofRuntime = runtimes === undefined ? [] : runtimeWarnings(manifest_yaml, runtimes);
      const warnings = [...ofRuntime, ...commandWarnings(manifest_yaml)];
      return warnings.length === 0 ? deployed : { ...deployed, warnings };
    });
    done();
  });
}

import { acceptYamlBodies } from '../../body-parsers.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { DeployBody, DeployQuery } from '../../schemas/catalog.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { DeployAnswer } from '../../schemas/workflows.ts';
import { deployment, YamlBody } from '../manifest-body.ts';
import { type WorkflowRouteParts, workflowRoute } from './parts.ts';

const schema = {
  tags: ['workflows'],
  summary: 'Deploy a workflow',
  description:
    'Takes the manifest as YAML, or as JSON that holds it. A second (name, version) in a scope needs `force`.',
  headers: CallerHeaders,
  querystring: DeployQuery,
  body: { content: { 'application/json': { schema: DeployBody }, 'application/yaml': { schema: YamlBody } } },
  response: { 200: DeployAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [409, 422] }) },
};

/** POST /v1/workflows (decided.md "REST beyond the specification"). In a plugin of its own: only here YAML is a body. */
export function deployWorkflowRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.register((plugin: RestApp, _options, done) => {
    acceptYamlBodies(plugin);
    plugin.post('/v1/workflows', { config: workflowRoute('write'), schema }, async (request) => {
      const { manifest_yaml, ...options } = deployment(request.body, request.query);
      return catalog.deploy(callerOf(request), manifest_yaml, options);
    });
    done();
  });
}

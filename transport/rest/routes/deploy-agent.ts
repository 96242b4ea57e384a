import { z } from 'zod';
import { SvcError } from '../../../runtime/errors.ts';
import { acceptYamlBodies } from '../body-parsers.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { DeployAnswer, DeployBody } from '../schemas/agents.ts';
import { CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';

const YamlBody = z.string().min(1).describe('The agent manifest.');

const schema = {
  tags: ['agents'],
  summary: 'Deploy an agent',
  description: 'Takes the manifest as YAML, or as JSON that holds it. A second (name, version) needs `force`.',
  headers: CallerHeaders,
  querystring: z.object({
    force: z.enum(['', 'true', 'false']).optional().describe('For a YAML body: overwrite; without a value it is true.'),
  }),
  body: { content: { 'application/json': { schema: DeployBody }, 'application/yaml': { schema: YamlBody } } },
  response: { 200: DeployAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [409, 422] }) },
};

/** What was asked for, whichever way the manifest came. */
function deploymentOf(body: unknown, forceQuery: string | undefined): { manifestYaml: string; force: boolean } {
  const forced = forceQuery === '' || forceQuery === 'true';
  if (typeof body === 'string' && body !== '') return { manifestYaml: body, force: forced };
  const asked = DeployBody.safeParse(body);
  if (!asked.success) {
    throw new SvcError('invalid_argument', 'body: a manifest is expected, as application/yaml or {manifest_yaml}', {
      field: 'body',
    });
  }
  return { manifestYaml: asked.data.manifest_yaml, force: asked.data.force || forced };
}

/** POST /v1/agents (decided.md "REST beyond the specification"). In a plugin of its own: only here YAML is a body. */
export function deployAgentRoute(app: RestApp, { agents }: RestParts): void {
  app.register((scope: RestApp, _options, done) => {
    acceptYamlBodies(scope);
    scope.post('/v1/agents', { config: agentRoute('write'), schema }, async (request) => {
      const { manifestYaml, force } = deploymentOf(request.body, request.query.force);
      return agents.deploy(callerOf(request), manifestYaml, { force });
    });
    done();
  });
}

import { z } from 'zod';
import { parseManagedConfig } from '../../../../manifests/node/managed.ts';
import { SvcError } from '../../../../runtime/errors.ts';
import { acceptYamlBodies } from '../../body-parsers.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { ManagedConfigAnswer, ManagedConfigBody } from '../../schemas/cluster.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import type { ConfigRouteParts } from './parts.ts';

const YamlBody = z.string().min(1).describe('A document of kind ManagedConfig.');

const schema = {
  tags: ['cluster'],
  summary: 'Set the configuration that controllers manage for all nodes',
  description: 'Takes it as YAML, or as JSON that holds it. Every registered node is told with its next heartbeat.',
  headers: CallerHeaders,
  body: { content: { 'application/json': { schema: ManagedConfigBody }, 'application/yaml': { schema: YamlBody } } },
  response: { 200: ManagedConfigAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [422] }) },
};

/** The text, whichever way it came, once it was checked. Throws `invalid_argument`, `validation_failed`. */
function checkedText(body: unknown): string {
  const text = typeof body === 'string' && body !== '' ? body : ManagedConfigBody.safeParse(body).data?.config_yaml;
  if (text === undefined) {
    const says = 'body: a configuration is expected, as application/yaml or {config_yaml}';
    throw new SvcError('invalid_argument', says, { field: 'body' });
  }
  const parsed = parseManagedConfig(text);
  if (parsed.ok) return text;
  const says = `The configuration breaks ${parsed.problems.length === 1 ? 'a rule' : 'rules'}; details name the place.`;
  throw new SvcError('validation_failed', says, { details: parsed.problems });
}

/** PUT /v1/cluster/config. In a plugin of its own: only here YAML is a body. */
export function setConfigRoute(app: RestApp, { peers }: ConfigRouteParts): void {
  app.register((scope: RestApp, _options, done) => {
    acceptYamlBodies(scope);
    scope.put('/v1/cluster/config', { config: { access: 'operate' }, schema }, async (request) =>
      peers.setConfig(checkedText(request.body), callerOf(request)),
    );
    done();
  });
}

import { z } from 'zod';
import { parseManagedConfig } from '../../../manifests/node/managed.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { RestApp } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { ManagedConfigAnswer, ManagedConfigBody, PushAnswers } from '../schemas/cluster.ts';
import { CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { acceptYamlBodies } from '../signed-body.ts';
import type { ConfigRouteParts } from './cluster.ts';

const getConfigSchema = {
  tags: ['cluster'],
  summary: 'Show the configuration that controllers manage for all nodes',
  headers: CallerHeaders,
  response: { 200: ManagedConfigAnswer, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/cluster/config. */
export function getConfigRoute(app: RestApp, { peers }: ConfigRouteParts): void {
  app.get('/v1/cluster/config', { config: { access: 'inspect' }, schema: getConfigSchema }, async () => peers.config());
}

const YamlBody = z.string().min(1).describe('A document of kind ManagedConfig.');

const setConfigSchema = {
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
    scope.put('/v1/cluster/config', { config: { access: 'operate' }, schema: setConfigSchema }, async (request) =>
      peers.setConfig(checkedText(request.body), callerOf(request)),
    );
    done();
  });
}

const pushConfigSchema = {
  tags: ['cluster'],
  summary: 'Push the managed configuration to every node that can be reached',
  headers: CallerHeaders,
  response: { 200: PushAnswers, ...problemSchemas({ style: 'coded', hasBody: true }) },
};

/** POST /v1/cluster/config/push (spec 1, PushConfig). A node that refuses says why; the others get it all the same. */
export function pushConfigRoute(app: RestApp, { cluster }: ConfigRouteParts): void {
  app.post('/v1/cluster/config/push', { config: { access: 'operate' }, schema: pushConfigSchema }, async () => ({
    nodes: await cluster.pushConfig(),
  }));
}

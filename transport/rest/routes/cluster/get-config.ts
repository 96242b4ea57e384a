import type { RestApp } from '../../parts.ts';
import { ManagedConfigAnswer } from '../../schemas/cluster.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import type { ConfigRouteParts } from './parts.ts';

const schema = {
  tags: ['cluster'],
  summary: 'Show the configuration that controllers manage for all nodes',
  headers: CallerHeaders,
  response: { 200: ManagedConfigAnswer, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/cluster/config. */
export function getConfigRoute(app: RestApp, { peers }: ConfigRouteParts): void {
  app.get('/v1/cluster/config', { config: { access: 'inspect' }, schema }, async () => peers.config());
}

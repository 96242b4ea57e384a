import type { RestApp } from '../../parts.ts';
import { PushAnswers } from '../../schemas/cluster.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import type { ConfigRouteParts } from './parts.ts';

const schema = {
  tags: ['cluster'],
  summary: 'Push the managed configuration to every node that can be reached',
  headers: CallerHeaders,
  response: { 200: PushAnswers, ...problemSchemas({ style: 'coded', hasBody: true }) },
};

/** POST /v1/cluster/config/push (spec 1, PushConfig). A node that refuses says why; the others get it all the same. */
export function pushConfigRoute(app: RestApp, { cluster }: ConfigRouteParts): void {
  app.post('/v1/cluster/config/push', { config: { access: 'operate' }, schema }, async () => ({
    nodes: await cluster.pushConfig(),
  }));
}

import type { RestApp } from '../../parts.ts';
import { FleetNodeAnswer, NodeIdParams } from '../../schemas/cluster.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { type ClusterRouteParts, findNode } from './parts.ts';

const schema = {
  tags: ['cluster'],
  summary: 'Show a node',
  headers: CallerHeaders,
  params: NodeIdParams,
  response: { 200: FleetNodeAnswer, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/cluster/nodes/{id}. */
export function getNodeRoute(app: RestApp, parts: ClusterRouteParts): void {
  app.get('/v1/cluster/nodes/:id', { config: { access: 'inspect' }, schema }, async (request) =>
    findNode(parts, request.params.id),
  );
}

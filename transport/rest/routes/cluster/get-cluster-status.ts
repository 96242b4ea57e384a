import { countByStatus, joinNodes } from '../../fleet-nodes.ts';
import type { RestApp } from '../../parts.ts';
import { ClusterStatusAnswer } from '../../schemas/cluster.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { type ClusterRouteParts, peersOf } from './parts.ts';

const schema = {
  tags: ['cluster'],
  summary: 'Show this node, the fleet in numbers, and which pools nobody serves',
  headers: CallerHeaders,
  response: { 200: ClusterStatusAnswer, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/cluster/status. */
export function getClusterStatusRoute(app: RestApp, { cluster, peers, chaos }: ClusterRouteParts): void {
  app.get('/v1/cluster/status', { config: { access: 'inspect' }, schema }, async () => {
    const [status, known] = await Promise.all([cluster.status(), peersOf(peers)]);
    return {
      node: cluster.local(),
      nodes: countByStatus(joinNodes(status.members, known)),
      pools: status.pools,
      chaos: chaos?.enabled ?? false,
    };
  });
}

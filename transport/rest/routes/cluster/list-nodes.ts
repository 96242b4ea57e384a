import { z } from 'zod';
import { joinNodes } from '../../fleet-nodes.ts';
import type { RestApp } from '../../parts.ts';
import { FleetNodeList, NODE_STATUSES } from '../../schemas/cluster.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { type ClusterRouteParts, peersOf } from './parts.ts';

const schema = {
  tags: ['cluster'],
  summary: 'List the nodes: members with a node lease, and registered peers',
  headers: CallerHeaders,
  querystring: z.object({
    status: z.enum(NODE_STATUSES).optional(),
    tag: z.string().min(1).max(63).optional().describe('Only nodes with this tag.'),
  }),
  response: { 200: FleetNodeList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/cluster/nodes. */
export function listNodesRoute(app: RestApp, { cluster, peers }: ClusterRouteParts): void {
  app.get('/v1/cluster/nodes', { config: { access: 'inspect' }, schema }, async (request) => {
    const { status, tag } = request.query;
    const [{ members }, known] = await Promise.all([cluster.status(), peersOf(peers)]);
    const nodes = joinNodes(members, known)
      .filter((node) => status === undefined || node.status === status)
      .filter((node) => tag === undefined || node.tags.includes(tag));
    return { nodes };
  });
}

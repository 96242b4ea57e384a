import { z } from 'zod';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { NodeIdParams } from '../../schemas/cluster.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { type ClusterRouteParts, findNode } from './parts.ts';

const schema = {
  tags: ['cluster'],
  summary: 'Drain a node: it hands its partitions over and gets no new work',
  headers: CallerHeaders,
  params: NodeIdParams,
  response: {
    200: z.object({ node_id: z.string(), draining: z.literal(true) }),
    ...problemSchemas({ style: 'coded', hasBody: true, also: [404] }),
  },
};

/** POST /v1/cluster/nodes/{id}/drain. A member hears it at once, a peer that is none with its next heartbeat. */
export function drainNodeRoute(app: RestApp, parts: ClusterRouteParts): void {
  app.post('/v1/cluster/nodes/:id/drain', { config: { access: 'operate' }, schema }, async (request) => {
    const node = await findNode(parts, request.params.id);
    request.log.info({ node: node.node_id, by: callerOf(request).subject }, 'an operator drains a node');
    // The way that needs nobody but the store: controllers may be away, and it tells them with its next heartbeat.
    if (node.member) await parts.cluster.drainMember(node.node_id);
    else await parts.peers?.drain(node.node_id, callerOf(request));
    return { node_id: node.node_id, draining: true as const };
  });
}

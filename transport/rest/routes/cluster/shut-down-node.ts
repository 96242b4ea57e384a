import { z } from 'zod';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { NodeIdParams, ShutdownBody } from '../../schemas/cluster.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { type ClusterRouteParts, findNode } from './parts.ts';

const schema = {
  tags: ['cluster'],
  summary: 'Drain a node and end its process in order',
  headers: CallerHeaders,
  params: NodeIdParams,
  body: ShutdownBody.nullish(),
  response: {
    200: z.object({ node_id: z.string(), shutting_down: z.literal(true) }),
    ...problemSchemas({ style: 'coded', hasBody: true, also: [404] }),
  },
};

/** POST /v1/cluster/nodes/{id}/shutdown. A member hears it at once, a peer that is none with its next heartbeat. */
export function shutDownNodeRoute(app: RestApp, parts: ClusterRouteParts): void {
  app.post('/v1/cluster/nodes/:id/shutdown', { config: { access: 'operate' }, schema }, async (request) => {
    const { reason } = request.body ?? ShutdownBody.parse({});
    const node = await findNode(parts, request.params.id);
    request.log.info({ node: node.node_id, by: callerOf(request).subject, reason }, 'an operator ends a node');
    if (node.member) await parts.cluster.shutDownMember(node.node_id, reason);
    else await parts.peers?.shutdown(node.node_id, reason, callerOf(request));
    return { node_id: node.node_id, shutting_down: true as const };
  });
}

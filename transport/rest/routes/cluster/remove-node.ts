import { z } from 'zod';
import { SvcError } from '../../../../runtime/errors.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { NodeIdParams } from '../../schemas/cluster.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { type ClusterRouteParts, noNode } from './parts.ts';

const schema = {
  tags: ['cluster'],
  summary: 'Forget a node with its key and registration',
  headers: CallerHeaders,
  params: NodeIdParams,
  response: {
    200: z.object({ node_id: z.string(), removed: z.literal(true) }),
    ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }),
  },
};

/** DELETE /v1/cluster/nodes/{id}. While the node is a live member it is 409. */
export function removeNodeRoute(app: RestApp, parts: ClusterRouteParts): void {
  app.delete('/v1/cluster/nodes/:id', { config: { access: 'operate' }, schema }, async (request) => {
    const { id } = request.params;
    const { members } = await parts.cluster.status();
    if (members.some(({ node_id }) => node_id === id)) {
      throw new SvcError('failed_precondition', `The node ${id} lives: shut it down first.`);
    }
    // Not looked for among the peers: one that was attested and never registered has a key to forget.
    if (parts.peers === undefined) throw noNode(id);
    await parts.peers.remove(id, callerOf(request));
    return { node_id: id, removed: true as const };
  });
}

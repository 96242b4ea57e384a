import { z } from 'zod';
import type { NodePeer, NodePeerApi } from '../../../actors/node-peer/api.ts';
import type { ClusterApi } from '../../../cluster/api.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { countByStatus, type FleetNode, joinNodes } from '../fleet-nodes.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import {
  ClusterStatusAnswer,
  FleetNodeAnswer,
  FleetNodeList,
  NODE_STATUSES,
  NodeIdParams,
  ShutdownBody,
} from '../schemas/cluster.ts';
import { CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { getConfigRoute, pushConfigRoute, setConfigRoute } from './cluster-config.ts';
import { joinTokenRoutes } from './join-tokens.ts';

const getClusterStatusSchema = {
  tags: ['cluster'],
  summary: 'Show this node, the fleet in numbers, and which pools nobody serves',
  headers: CallerHeaders,
  response: { 200: ClusterStatusAnswer, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/cluster/status. */
function getClusterStatusRoute(app: RestApp, { cluster, peers, chaos }: ClusterRouteParts): void {
  app.get('/v1/cluster/status', { config: { access: 'inspect' }, schema: getClusterStatusSchema }, async () => {
    const [status, known] = await Promise.all([cluster.status(), peersOf(peers)]);
    return {
      node: cluster.local(),
      nodes: countByStatus(joinNodes(status.members, known)),
      pools: status.pools,
      chaos: chaos?.enabled ?? false,
    };
  });
}

const listNodesSchema = {
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
function listNodesRoute(app: RestApp, { cluster, peers }: ClusterRouteParts): void {
  app.get('/v1/cluster/nodes', { config: { access: 'inspect' }, schema: listNodesSchema }, async (request) => {
    const { status, tag } = request.query;
    const [{ members }, known] = await Promise.all([cluster.status(), peersOf(peers)]);
    const nodes = joinNodes(members, known)
      .filter((node) => status === undefined || node.status === status)
      .filter((node) => tag === undefined || node.tags.includes(tag));
    return { nodes };
  });
}

const getNodeSchema = {
  tags: ['cluster'],
  summary: 'Show a node',
  headers: CallerHeaders,
  params: NodeIdParams,
  response: { 200: FleetNodeAnswer, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/cluster/nodes/{id}. */
function getNodeRoute(app: RestApp, parts: ClusterRouteParts): void {
  app.get('/v1/cluster/nodes/:id', { config: { access: 'inspect' }, schema: getNodeSchema }, async (request) =>
    findNode(parts, request.params.id),
  );
}

const drainNodeSchema = {
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
function drainNodeRoute(app: RestApp, parts: ClusterRouteParts): void {
  app.post(
    '/v1/cluster/nodes/:id/drain',
    { config: { access: 'operate' }, schema: drainNodeSchema },
    async (request) => {
      const node = await findNode(parts, request.params.id);
      request.log.info({ node: node.node_id, by: callerOf(request).subject }, 'an operator drains a node');
      // The way that needs nobody but the store: controllers may be away, and it tells them with its next heartbeat.
      if (node.member) await parts.cluster.drainMember(node.node_id);
      else await parts.peers?.drain(node.node_id, callerOf(request));
      return { node_id: node.node_id, draining: true as const };
    },
  );
}

const removeNodeSchema = {
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
function removeNodeRoute(app: RestApp, parts: ClusterRouteParts): void {
  app.delete('/v1/cluster/nodes/:id', { config: { access: 'operate' }, schema: removeNodeSchema }, async (request) => {
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

const shutDownNodeSchema = {
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
function shutDownNodeRoute(app: RestApp, parts: ClusterRouteParts): void {
  app.post(
    '/v1/cluster/nodes/:id/shutdown',
    { config: { access: 'operate' }, schema: shutDownNodeSchema },
    async (request) => {
      const { reason } = request.body ?? ShutdownBody.parse({});
      const node = await findNode(parts, request.params.id);
      request.log.info({ node: node.node_id, by: callerOf(request).subject, reason }, 'an operator ends a node');
      if (node.member) await parts.cluster.shutDownMember(node.node_id, reason);
      else await parts.peers?.shutdown(node.node_id, reason, callerOf(request));
      return { node_id: node.node_id, shutting_down: true as const };
    },
  );
}

const FLEET = [getClusterStatusRoute, listNodesRoute, getNodeRoute, drainNodeRoute, shutDownNodeRoute, removeNodeRoute];

const CONFIG = [getConfigRoute, setConfigRoute, pushConfigRoute];

/** /v1/cluster, as far as the node has the parts for it. */
export function clusterRoutes(app: RestApp, parts: RestParts): void {
  const { cluster, peers, joinTokens } = parts;
  if (cluster === undefined) return;
  if (joinTokens !== undefined) joinTokenRoutes(app, joinTokens);
  for (const route of FLEET) route(app, { ...parts, cluster });
  if (peers === undefined) return;
  for (const route of CONFIG) route(app, { ...parts, cluster, peers });
}

/** Parts of a node that is in a fleet; peers only where NodeClusterService has a controller's side. */
interface ClusterRouteParts extends RestParts {
  readonly cluster: ClusterApi;
}

/** Configuration for all nodes is kept where peers are. */
export interface ConfigRouteParts extends ClusterRouteParts {
  readonly peers: NodePeerApi;
}

const peersOf = async (peers: NodePeerApi | undefined): Promise<readonly NodePeer[]> =>
  peers === undefined ? [] : peers.list();

/** One node, from its lease and its registration. Throws `not_found`. */
async function findNode({ cluster, peers }: ClusterRouteParts, nodeId: string): Promise<FleetNode> {
  const [{ members }, known] = await Promise.all([cluster.status(), peersOf(peers)]);
  const found = joinNodes(members, known).find(({ node_id }) => node_id === nodeId);
  if (found === undefined) throw noNode(nodeId);
  return found;
}

const noNode = (nodeId: string): SvcError => new SvcError('not_found', `There is no node ${nodeId}.`);

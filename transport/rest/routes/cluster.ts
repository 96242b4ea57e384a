import { z } from 'zod';
import { parseManagedConfig } from '../../../manifests/node/managed.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Capabilities, NodePeer, NodePeerApi, NodePeerStatus, NodeRole } from '../../../usecases/node-api.ts';
import {
  ClusterStatusAnswer,
  FleetNodeAnswer,
  FleetNodeList,
  ManagedConfigAnswer,
  ManagedConfigBody,
  NODE_STATUSES,
  NodeIdParams,
  PushAnswers,
  ShutdownBody,
} from '../../../usecases/operations/schemas/cluster.ts';
import { CallerHeaders } from '../../../usecases/operations/schemas/fields.ts';
import type { ClusterApi, MemberStatus } from '../../../usecases/ports/cluster.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { acceptYamlBodies } from '../signed-body.ts';

/** One node for operators: the data of its node lease and of its registration. */
interface FleetNode {
  readonly node_id: string;
  readonly role: NodeRole | null;
  readonly status: NodePeerStatus;
  readonly tags: readonly string[];
  /** Null for a node that is not a registered peer. */
  readonly capabilities: Capabilities | null;
  readonly version: string | null;
  readonly started_at: string | null;
  readonly grpc_address: string | null;
  readonly rest_url: string | null;
  /** Number of partitions that it should serve, by pool. */
  readonly partitions: Readonly<Record<string, number>>;
  readonly last_heartbeat_at: string | null;
  /** Whether it holds a node lease. */
  readonly member: boolean;
  /** Whether it is registered with NodeClusterService. */
  readonly registered: boolean;
}

const ROLES = { controller: 'CONTROLLER', worker: 'WORKER', hybrid: 'HYBRID' } as const;

/** All members and registered nodes, ordered by id. */
function joinNodes(members: readonly MemberStatus[], peers: readonly NodePeer[]): FleetNode[] {
  const byId = new Map(peers.map((peer) => [peer.node_id, peer]));
  const live = members.map((member) => nodeOf(member, byId.get(member.node_id)));
  const memberIds = new Set(members.map(({ node_id }) => node_id));
  const others = peers.filter(({ node_id }) => !memberIds.has(node_id)).map((peer) => nodeOf(undefined, peer));
  return [...live, ...others].sort((a, b) => (a.node_id < b.node_id ? -1 : 1));
}

function nodeOf(member: MemberStatus | undefined, peer: NodePeer | undefined): FleetNode {
  const info = member?.info ?? null;
  return {
    node_id: member?.node_id ?? peer?.node_id ?? '',
    role: info === null ? (peer?.role ?? null) : ROLES[info.role],
    // The node's own lease wins. Before the node knows of a queued drain, its record already shows it.
    status: info?.draining === true ? 'DRAINING' : (peer?.status ?? 'ACTIVE'),
    tags: info?.tags ?? peer?.capabilities.tags ?? [],
    capabilities: peer?.capabilities ?? null,
    version: info?.version ?? null,
    started_at: info === null ? null : new Date(info.startedAt).toISOString(),
    grpc_address: textOrNull(peer?.grpc_address) ?? info?.clusterAddress ?? null,
    rest_url: info?.restUrl ?? null,
    partitions: member?.partitions ?? {},
    last_heartbeat_at: textOrNull(peer?.last_heartbeat_at),
    member: member !== undefined,
    registered: peer !== undefined,
  };
}

const textOrNull = (text: string | undefined): string | null => (text === undefined || text === '' ? null : text);

/** Number of nodes for each status. */
function countByStatus(nodes: readonly FleetNode[]): Record<NodePeerStatus, number> {
  const counts = { ACTIVE: 0, DRAINING: 0, UNHEALTHY: 0 };
  for (const { status } of nodes) counts[status] += 1;
  return counts;
}

const getConfigSchema = {
  operationId: 'cluster.get_config',
  tags: ['cluster'],
  summary: 'Show the configuration that controllers manage for all nodes',
  headers: CallerHeaders,
  response: { 200: ManagedConfigAnswer, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/cluster/config. */
function getConfigRoute(app: RestApp, { peers }: ConfigRouteParts): void {
  app.get('/v1/cluster/config', { config: { access: 'inspect' }, schema: getConfigSchema }, async () => peers.config());
}

const YamlBody = z.string().min(1).describe('A document of kind ManagedConfig.');

const setConfigSchema = {
  operationId: 'cluster.put_config',
  tags: ['cluster'],
  summary: 'Set the configuration that controllers manage for all nodes',
  description:
    'The configuration as YAML, or as JSON with the YAML text. Every registered node fetches it with its next heartbeat.',
  headers: CallerHeaders,
  body: { content: { 'application/json': { schema: ManagedConfigBody }, 'application/yaml': { schema: YamlBody } } },
  response: { 200: ManagedConfigAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [422] }) },
};

/** The configuration text of a JSON or YAML body. Throws `invalid_argument`, `validation_failed`. */
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

/** PUT /v1/cluster/config. In a plugin of its own, since only this route accepts YAML bodies. */
function setConfigRoute(app: RestApp, { peers }: ConfigRouteParts): void {
  app.register((scope: RestApp, _options, done) => {
    acceptYamlBodies(scope);
    scope.put('/v1/cluster/config', { config: { access: 'operate' }, schema: setConfigSchema }, async (request) =>
      peers.setConfig(checkedText(request.body), callerOf(request)),
    );
    done();
  });
}

const pushConfigSchema = {
  operationId: 'cluster.push_config',
  tags: ['cluster'],
  summary: 'Push the managed configuration to every node that can be reached',
  headers: CallerHeaders,
  response: { 200: PushAnswers, ...problemSchemas({ style: 'coded', hasBody: true }) },
};

/** POST /v1/cluster/config/push (G30). A node that refuses answers why; the other nodes still get the configuration. */
function pushConfigRoute(app: RestApp, { cluster }: ConfigRouteParts): void {
  app.post('/v1/cluster/config/push', { config: { access: 'operate' }, schema: pushConfigSchema }, async () => ({
    nodes: await cluster.pushConfig(),
  }));
}

const getClusterStatusSchema = {
  operationId: 'cluster.status',
  tags: ['cluster'],
  summary: 'Show this node, the fleet in numbers, and which pools no node serves',
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
  operationId: 'nodes.list',
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
  operationId: 'nodes.get',
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
  operationId: 'nodes.drain',
  tags: ['cluster'],
  summary: 'Drain a node: it hands its partitions over and gets no new work',
  headers: CallerHeaders,
  params: NodeIdParams,
  response: {
    200: z.object({ node_id: z.string(), draining: z.literal(true) }),
    ...problemSchemas({ style: 'coded', hasBody: true, also: [404] }),
  },
};

/** POST /v1/cluster/nodes/{id}/drain. A member gets the command at once, a registered peer with its next heartbeat. */
function drainNodeRoute(app: RestApp, parts: ClusterRouteParts): void {
  app.post(
    '/v1/cluster/nodes/:id/drain',
    { config: { access: 'operate' }, schema: drainNodeSchema },
    async (request) => {
      const node = await findNode(parts, request.params.id);
      request.log.info({ node: node.node_id, by: callerOf(request).subject }, 'an operator drains a node');
      // Needs only the store: the controllers that would send the command with a heartbeat may be down.
      if (node.member) await parts.cluster.drainMember(node.node_id);
      else await parts.peers?.drain(node.node_id, callerOf(request));
      return { node_id: node.node_id, draining: true as const };
    },
  );
}

const removeNodeSchema = {
  operationId: 'nodes.remove',
  tags: ['cluster'],
  summary: 'Forget a node with its key and registration',
  headers: CallerHeaders,
  params: NodeIdParams,
  response: {
    200: z.object({ node_id: z.string(), removed: z.literal(true) }),
    ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }),
  },
};

/** DELETE /v1/cluster/nodes/{id}. Answers 409 while the node is a live member. */
function removeNodeRoute(app: RestApp, parts: ClusterRouteParts): void {
  app.delete('/v1/cluster/nodes/:id', { config: { access: 'operate' }, schema: removeNodeSchema }, async (request) => {
    const { id } = request.params;
    const { members } = await parts.cluster.status();
    if (members.some(({ node_id }) => node_id === id)) {
      throw new SvcError('failed_precondition', `The node ${id} is a live member: shut it down first.`);
    }
    // Does not check for a registration: a node that was attested and never registered has a key to remove.
    if (parts.peers === undefined) throw noNode(id);
    await parts.peers.remove(id, callerOf(request));
    return { node_id: id, removed: true as const };
  });
}

const shutDownNodeSchema = {
  operationId: 'nodes.shutdown',
  tags: ['cluster'],
  summary: 'Drain a node, then end its process cleanly',
  headers: CallerHeaders,
  params: NodeIdParams,
  body: ShutdownBody.nullish(),
  response: {
    200: z.object({ node_id: z.string(), shutting_down: z.literal(true) }),
    ...problemSchemas({ style: 'coded', hasBody: true, also: [404] }),
  },
};

/**
 * POST /v1/cluster/nodes/{id}/shutdown. A member gets the command at once, a registered peer with its next heartbeat.
 */
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

/** The routes under /v1/cluster that this node has the parts for. */
export function clusterRoutes(app: RestApp, parts: RestParts): void {
  const { cluster, peers } = parts;
  if (cluster === undefined) return;
  for (const route of FLEET) route(app, { ...parts, cluster });
  if (peers === undefined) return;
  for (const route of CONFIG) route(app, { ...parts, cluster, peers });
}

/** The parts of a node in a fleet. `peers` exists only where NodeClusterService serves controllers. */
interface ClusterRouteParts extends RestParts {
  readonly cluster: ClusterApi;
}

/** The parts for the configuration of all nodes, which is stored with the peers. */
interface ConfigRouteParts extends ClusterRouteParts {
  readonly peers: NodePeerApi;
}

const peersOf = async (peers: NodePeerApi | undefined): Promise<readonly NodePeer[]> =>
  peers === undefined ? [] : peers.list();

/** A node by its lease and its registration. Throws `not_found`. */
async function findNode({ cluster, peers }: ClusterRouteParts, nodeId: string): Promise<FleetNode> {
  const [{ members }, known] = await Promise.all([cluster.status(), peersOf(peers)]);
  const found = joinNodes(members, known).find(({ node_id }) => node_id === nodeId);
  if (found === undefined) throw noNode(nodeId);
  return found;
}

const noNode = (nodeId: string): SvcError => new SvcError('not_found', `There is no node ${nodeId}.`);

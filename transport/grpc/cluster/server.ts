import type { Metadata } from '@grpc/grpc-js';
import {
  NodeClusterServiceClient,
  NodeClusterServiceService,
  NodeClusterServiceService as service,
} from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { bearerToken, type NodeProofs } from '../../../security/api.ts';
import { OpenStreams } from '../../open-streams.ts';
import { isPublic, single } from '../access.ts';
import { callerIsNode } from '../audit.ts';
import { createEndpoint, type GrpcServer } from '../endpoint.ts';
import { CLUSTER_LIMITS, type ClusterLimits, type ClusterParts, type ClusterServerParts } from './envelope.ts';
import { addNodeCluster } from './node-cluster.ts';

export type { ClusterServerParts, ClusterWorker } from './envelope.ts';

/** Creates the gRPC server for nodes (G16; port 50056). It does not listen yet. */
export function createClusterServer(given: ClusterServerParts): GrpcServer {
  const limits: ClusterLimits = { ...CLUSTER_LIMITS, ...given.limits };
  const parts: ClusterParts = { ...given, limits, streams: new OpenStreams(limits.streams) };
  return createEndpoint(
    {
      ...parts,
      services: [NodeClusterServiceClient.serviceName],
      tls: parts.tls ?? undefined,
      admit: admission(parts),
      hasCaller: (path) => RULES.get(path)?.shows === 'node token',
      trailers: introduction(parts.proofs),
      messageBytes: (path) => (WITHOUT_TOKEN.has(path) ? limits.attestationBytes + SLACK_BYTES : limits.messageBytes),
      enter: (path) =>
        path === NodeClusterServiceService.forwardExecution.path ? parts.admission?.enter() : undefined,
    },
    (server) => addNodeCluster(server, parts),
  );
}

/**
 * Extra bytes that are still read: a request that is slightly too large is refused by its method, which names its
 * limit.
 */
const SLACK_BYTES = 64 * 1024;

const WITHOUT_TOKEN: ReadonlySet<string> = new Set([
  NodeClusterServiceService.attestNode.path,
  NodeClusterServiceService.challengeNode.path,
]);

/** The role of a node that serves a method, and what the caller must present before its message is read. */
interface Rule {
  readonly by: 'controller' | 'worker';
  /** AttestNode presents its join token with the message, since a token may be valid for one node only. */
  readonly shows: 'nothing' | 'node token';
}

const forControllers: Rule = { by: 'controller', shows: 'node token' };

const forWorkers: Rule = { by: 'worker', shows: 'node token' };

/** The rule of each method (G16). A method that is not listed is forbidden. */
const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  [service.attestNode.path, { by: 'controller', shows: 'nothing' }],
  [service.challengeNode.path, { by: 'controller', shows: 'nothing' }],
  [service.registerNode.path, forControllers],
  [service.heartbeat.path, forControllers],
  [service.deregisterNode.path, forControllers],
  [service.routeExecution.path, forControllers],
  [service.forwardExecution.path, forWorkers],
  [service.syncConfig.path, forControllers],
  [service.pushConfig.path, forWorkers],
  [service.listPeers.path, forControllers],
]);

type AdmissionParts = Pick<ClusterServerParts, 'tokens' | 'worker' | 'controller'>;

/**
 * Refuses a call before its message is read: `failed_precondition` on a node of the other role, `unauthenticated`
 * without a valid node token. The envelope is verified later, with the message.
 */
function admission(parts: AdmissionParts): (path: string, metadata: Metadata) => Promise<null> {
  return async (path, metadata) => {
    if (isPublic(path)) return null;
    const rule = RULES.get(path);
    if (rule === undefined) throw new SvcError('forbidden');
    requireServed(rule, parts);
    if (rule.shows === 'node token') callerIsNode(metadata, await parts.tokens.verify(bearerOf(metadata)));
    return null;
  };
}

function requireServed({ by }: Rule, { worker, controller }: AdmissionParts): void {
  if (by === 'controller' && !controller) {
    throw new SvcError(
      'failed_precondition',
      'this node is not a controller: send the call to a controller of the fleet',
    );
  }
  if (by === 'worker' && worker === null) {
    throw new SvcError('failed_precondition', 'this node is not a worker: send the call to a worker of the fleet');
  }
}

function bearerOf(metadata: Metadata): string {
  const token = bearerToken(single(metadata, 'authorization'));
  if (token !== undefined) return token;
  throw new SvcError('unauthenticated', 'a node token is needed in metadata authorization: expected Bearer TOKEN');
}

/**
 * Trailers `svc-node-id`, `svc-node-life` and `svc-node-time` of every answer, including errors. They tell a sender that
 * reached another node than expected for which node it must make its proof.
 */
const introduction =
  (proofs: Pick<NodeProofs, 'introduction'>) =>
  (path: string): Readonly<Record<string, string>> => {
    if (isPublic(path)) return {};
    const { nodeId, life, at } = proofs.introduction();
    return { 'svc-node-id': nodeId, 'svc-node-life': life, 'svc-node-time': String(at) };
  };

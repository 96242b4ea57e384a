import { NodeClusterServiceClient, NodeClusterServiceService } from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { OpenStreams } from '../../open-streams.ts';
import { createEndpoint, type GrpcServer } from '../endpoint.ts';
import { admission } from './admission.ts';
import { introduction } from './introduction.ts';
import { CLUSTER_LIMITS, type ClusterLimits } from './limits.ts';
import { addNodeCluster } from './node-cluster.ts';
import type { ClusterParts, ClusterServerParts } from './parts.ts';

export type { ClusterServerParts, ClusterWorker } from './parts.ts';

/** The gRPC API of nodes (spec 1, NodeClusterService; port 50056) as a server that does not listen yet. */
export function createClusterServer(given: ClusterServerParts): GrpcServer {
  const limits: ClusterLimits = { ...CLUSTER_LIMITS, ...given.limits };
  const parts: ClusterParts = { ...given, limits, streams: new OpenStreams(limits.streams) };
  return createEndpoint(
    {
      ...parts,
      services: [NodeClusterServiceClient.serviceName],
      tls: parts.tls ?? undefined,
      admit: admission(parts),
      trailers: introduction(parts.proofs),
      messageBytes: (path) => (FOR_STRANGERS.has(path) ? limits.attestationBytes + SLACK_BYTES : limits.messageBytes),
      enter: (path) =>
        path === NodeClusterServiceService.forwardExecution.path ? parts.admission?.enter() : undefined,
    },
    (server) => addNodeCluster(server, parts),
  );
}

/** What is little too large is refused by its method, which says how large it may be. */
const SLACK_BYTES = 64 * 1024;
const FOR_STRANGERS: ReadonlySet<string> = new Set([
  NodeClusterServiceService.attestNode.path,
  NodeClusterServiceService.challengeNode.path,
]);

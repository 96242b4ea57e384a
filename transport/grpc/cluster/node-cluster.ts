import type { Server } from '@grpc/grpc-js';
import { NodeClusterServiceService as service } from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { inBytes } from '../service.ts';
import { attestation } from './attestation.ts';
import { listPeers, routeExecution, syncConfig } from './fleet-reads.ts';
import { deregisterNode, heartbeat, registerNode } from './membership.ts';
import type { ClusterParts } from './parts.ts';
import { forwardExecution, pushConfig } from './worker-calls.ts';

/** `svc.cluster.v1.NodeClusterService` (spec 1): the first two in the open, the others in a SealNodeEnvelope. */
export function addNodeCluster(server: Server, parts: ClusterParts): void {
  const methods = {
    attestNode: inBytes(service.attestNode),
    challengeNode: inBytes(service.challengeNode),
    registerNode: inBytes(service.registerNode),
    heartbeat: inBytes(service.heartbeat),
    deregisterNode: inBytes(service.deregisterNode),
    routeExecution: inBytes(service.routeExecution),
    forwardExecution: inBytes(service.forwardExecution),
    syncConfig: inBytes(service.syncConfig),
    pushConfig: inBytes(service.pushConfig),
    listPeers: inBytes(service.listPeers),
  };
  server.addService(methods, {
    ...attestation(parts),
    registerNode: registerNode(parts),
    heartbeat: heartbeat(parts),
    deregisterNode: deregisterNode(parts),
    routeExecution: routeExecution(parts),
    forwardExecution: forwardExecution(parts),
    syncConfig: syncConfig(parts),
    pushConfig: pushConfig(parts),
    listPeers: listPeers(parts),
  });
}

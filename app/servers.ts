import { advertised } from '../cluster/advertised-host.ts';
import type { ClusterNode } from '../cluster/cluster-node.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import { runtimeTable } from '../manifests/runtime-table/table.ts';
import { CertificateFiles, type CertificateParts } from '../security/certificate-files.ts';
import { openNodeEnvelope } from '../security/node-envelope.ts';
import { createClusterServer } from '../transport/grpc/cluster/server.ts';
import type { GrpcServerParts } from '../transport/grpc/parts.ts';
import { createGrpcServer } from '../transport/grpc/svc-runtime.ts';
import { acceptProgram } from '../transport/internal/server.ts';
import type { RestServerParts } from '../transport/rest/parts.ts';
import { createRestServer } from '../transport/rest/server.ts';
import type { DispatchApi } from '../usecases/gateway.ts';
import type { NodePeerApi } from '../usecases/node-api.ts';
import type { ClusterApi } from '../usecases/ports/cluster.ts';
import type { SealParts } from '../usecases/seal/parts.ts';
import type { Admission } from '../usecases/starts/admission.ts';
import type { Node } from './node.ts';
import { type AgentAccess, createInternalServers } from './tool-areas.ts';

type Public = RestServerParts & Omit<GrpcServerParts, 'auth' | 'limits'>;

export interface ServersParts extends Omit<Public, 'seal' | 'peers'> {
  readonly settings: NodeSettings;
  readonly seal: SealParts;
  readonly peers: NodePeerApi;
  readonly dispatch: DispatchApi;
  readonly access: AgentAccess;
  readonly cluster: ClusterApi;
  readonly admission: Admission;
  readonly clusterNode: ClusterNode | null;
  /** Address that the cluster port binds to. */
  readonly clusterHost: string;
}

/** Most connections that wait to be accepted, if the system allows that many: thousands may come at once. */
const BACKLOG = 4_096;

type Addresses = Pick<Node, 'restUrl' | 'grpcAddress' | 'internalUrl' | 'internalGrpcAddress' | 'clusterAddress'>;

/**
 * Opens the certificate of the public addresses (`spec.network.tls`); null when they use plain text. Throws
 * `invalid_config` naming the setting whose file cannot be used.
 */
export async function openNetworkCertificate(tls: NodeSettings['network']['tls'], parts: CertificateParts) {
  const { enabled, cert_path: cert, key_path: key, min_version } = tls;
  if (!enabled || cert === undefined || key === undefined) return null;
  const fields = { cert: 'spec.network.tls.cert_path', key: 'spec.network.tls.key_path' };
  const certificate = await CertificateFiles.open({ cert, key, fields }, parts);
  return { certificate, minVersion: `TLSv${min_version}` } as const;
}

/** Creates all servers of a node: public, internal and cluster. They listen only after `listen`. */
export function createServers(parts: ServersParts): { listen(): Promise<Addresses>; close(): Promise<void> } {
  const { settings, clusterNode, peers, executions, health, logger, access, clusterHost, admission } = parts;
  const { network, cluster } = settings;
  const isOfAgents = access.networks.has;
  const rest = createRestServer({
    ...parts,
    runtimes: runtimeTable(settings.runtime.containers.runtimes),
    origins: network.cors.allow,
    proxies: network.trust_proxy,
    isOfAgents,
    resource: { issuers: settings.iam.realms.map(({ issuer_url }) => issuer_url), publicUrl: network.public_url },
  });
  const grpc = createGrpcServer({ ...parts, auth: settings.grpc_auth, proxies: network.trust_proxy, isOfAgents });
  const figures = { local: () => parts.cluster.local(), admission: () => admission.counts };
  const metrics = settings.observability.metrics.enabled ? figures : null;
  const internal = createInternalServers({ ...parts, metrics });
  const nodes =
    clusterNode === null
      ? null
      : createClusterServer({
          ...{ ...clusterNode, peers, health, logger, admission, isOfAgents },
          openEnvelope: (authorization, envelope) => openNodeEnvelope(clusterNode, authorization, envelope),
          worker: cluster.role === 'controller' ? null : { executions, applyConfig: clusterNode.applyConfig },
          controller: cluster.role !== 'worker',
        });
  return {
    async listen() {
      const bound = await rest.listen({ host: network.bind, port: network.port, backlog: BACKLOG });
      const restUrl = parts.tls === undefined ? bound : bound.replace(/^http:/, 'https:');
      const grpcAddress = await grpc.listen(network.bind, network.grpc_port);
      const { bind, port, grpc_port } = network.internal;
      const internalUrl = await internal.rest.listen({ host: bind, port });
      access.listensAt(internalUrl, (connection) => acceptProgram(internal.rest, connection));
      const internalGrpcAddress = await internal.grpc.listen(bind, grpc_port);
      const nodesAt = (await nodes?.listen(clusterHost, cluster.cluster_grpc_port)) ?? null;
      const clusterAddress = nodesAt === null ? null : advertised(nodesAt, cluster.advertise_host);
      return { restUrl, grpcAddress, internalUrl, internalGrpcAddress, clusterAddress };
    },
    async close() {
      await Promise.all([rest.close(), grpc.close(), nodes?.close(), internal.rest.close(), internal.grpc.close()]);
    },
  };
}

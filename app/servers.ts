import { join } from 'node:path';
import { advertised } from '../cluster/advertised-host.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import { runtimeTable } from '../manifests/runtime-table/table.ts';
import { VERSION } from '../runtime/store-formats.ts';
import type { Authenticator } from '../security/api.ts';
import { createAuthenticator } from '../security/authenticator.ts';
import { CertificateFiles, type CertificateParts } from '../security/certificate-files.ts';
import { openLocalToken, writeDashboardPage } from '../security/local-token.ts';
import { openNodeEnvelope } from '../security/node-envelope.ts';
import { authenticatorSettings } from '../security/settings.ts';
import { createClusterServer } from '../transport/grpc/cluster/server.ts';
import { createGrpcServer } from '../transport/grpc/svc-runtime.ts';
import type { Health } from '../transport/health.ts';
import { acceptProgram } from '../transport/internal/server.ts';
import type { DashboardParts } from '../transport/rest/parts.ts';
import { createRestServer } from '../transport/rest/server.ts';
import type { ServerTls } from '../transport/tls.ts';
import type { OperationPorts } from '../usecases/operations/operation.ts';
import type { Admission } from '../usecases/starts/admission.ts';
import type { Areas } from './areas.ts';
import type { Audit } from './audit.ts';
import type { Callers } from './callers.ts';
import { knownStorage } from './catalogs.ts';
import type { Effects } from './effects.ts';
import type { BackgroundFigures } from './figures.ts';
import { type Cluster, clusterHost, type Signing } from './fleet.ts';
import type { Node } from './node.ts';
import type { NodeContext } from './node-context.ts';
import { type AgentAccess, createInternalServers } from './tool-areas.ts';

interface TransportParts {
  readonly context: NodeContext;
  readonly access: AgentAccess;
  readonly signing: Signing;
  readonly audit: Audit;
  readonly callers: Pick<Callers, 'keys'>;
  readonly effects: Pick<Effects, 'commands'>;
  readonly admission: Admission;
  readonly health: Health;
  readonly areas: Areas;
  readonly cluster: Cluster;
  /** Null when the settings turn metrics off. */
  readonly figures: BackgroundFigures | null;
}

interface Transports {
  /** `dashboardPage`: path of the page that opens the dashboard with the local token; null without one. */
  listen(): Promise<Addresses & { readonly dashboardPage: string | null }>;
  close(): Promise<void>;
}

/** Most connections that wait to be accepted, if the system allows that many: thousands may come at once. */
const BACKLOG = 4_096;

type Addresses = Pick<Node, 'restUrl' | 'grpcAddress' | 'internalUrl' | 'internalGrpcAddress' | 'clusterAddress'>;

/**
 * Opens the certificate of the public addresses (`spec.network.tls`); null when they use plain text. Throws
 * `invalid_config` naming the setting whose file cannot be used.
 */
async function openNetworkCertificate(tls: NodeSettings['network']['tls'], parts: CertificateParts) {
  const { enabled, cert_path: cert, key_path: key, min_version } = tls;
  if (!enabled || cert === undefined || key === undefined) return null;
  const fields = { cert: 'spec.network.tls.cert_path', key: 'spec.network.tls.key_path' };
  const certificate = await CertificateFiles.open({ cert, key, fields }, parts);
  return { certificate, minVersion: `TLSv${min_version}` } as const;
}

/** Creates all servers of a node: public, internal and cluster. They listen only after `listen`. */
export async function openTransports(parts: TransportParts): Promise<Transports> {
  await using opened = new AsyncDisposableStack();
  const { settings, dataDir, clock, logger } = parts.context;
  const certificate = await openNetworkCertificate(settings.network.tls, { clock, log: logger });
  opened.defer(async () => certificate?.certificate.close());
  const localToken = await openLocalToken(dataDir, settings.iam);
  const authenticator = createAuthenticator(
    { ...authenticatorSettings(settings), localToken: localToken ?? undefined },
    clock,
    parts.callers.keys,
  );
  opened.defer(() => authenticator.close());
  const access: PublicAccess = { authenticator, tls: certificate ?? undefined };
  const ports = operationPorts(parts);
  const servers = {
    rest: openRest(parts, ports, access),
    grpc: openGrpc(parts, ports, access),
    internal: openInternal(parts),
    nodes: openNodes(parts),
  };
  opened.defer(async () => {
    const { rest, grpc, nodes, internal } = servers;
    await Promise.all([rest.close(), grpc.close(), nodes?.close(), internal.rest.close(), internal.grpc.close()]);
  });
  const open = opened.move();
  return {
    async listen() {
      const addresses = await listen(parts, servers, certificate !== null);
      const { enabled } = settings.dashboard;
      const dashboardPage =
        localToken !== null && enabled ? await writeDashboardPage(dataDir, addresses.restUrl, localToken) : null;
      return { ...addresses, dashboardPage };
    },
    close: () => open.disposeAsync(),
  };
}

/** Authentication and TLS of the public addresses. */
interface PublicAccess {
  readonly authenticator: Authenticator;
  /** Undefined: plain text. */
  readonly tls: ServerTls | undefined;
}

const operationPorts = ({ areas, cluster }: TransportParts): Required<OperationPorts> => ({
  ...areas.ports,
  cluster: cluster.cluster,
  joinTokens: cluster.joinTokens,
  providers: cluster.providers,
  chaos: cluster.chaos,
});

function openRest(
  { context, access, signing, audit, admission, health, areas, cluster, figures }: TransportParts,
  ports: Required<OperationPorts>,
  { authenticator, tls }: PublicAccess,
) {
  const { network, iam, runtime } = context.settings;
  return createRestServer({
    ...ports,
    authenticator,
    tls,
    operationAudit: audit.operations,
    logger: context.logger,
    version: VERSION,
    health,
    peers: cluster.peers,
    nodeTokens: { keySet: async () => ({ keys: await signing.published.all() }) },
    webhooks: areas.webhooks,
    mcp: areas.mcp,
    seal: areas.seal,
    admission,
    feed: areas.feed(cluster.cluster),
    meter: figures?.metrics,
    intents: areas.management.intents,
    authors: areas.management.authors,
    runtimes: runtimeTable(runtime.containers.runtimes),
    models: areas.models,
    storage: knownStorage(context.settings),
    origins: network.cors.allow,
    resource: { issuers: iam.realms.map(({ issuer_url }) => issuer_url), publicUrl: network.public_url },
    proxies: network.trust_proxy,
    isOfAgents: access.networks.has,
    dashboard: dashboardOf(context.settings),
  });
}

/** The dashboard's files are beside the code, in a clone and in the package. */
export const DASHBOARD = join(import.meta.dirname, '..', 'dashboard', 'dist');

function dashboardOf({ dashboard: { enabled, oidc }, iam }: NodeSettings): DashboardParts | undefined {
  if (!enabled) return undefined;
  const withToken = iam.realms.length > 0 || iam.local === 'token';
  const signIn = oidc !== undefined ? 'oidc' : withToken ? 'token' : 'none';
  return { directory: DASHBOARD, signIn, oidc, roleClaim: iam.claims.role };
}

function openGrpc(
  { context, access, audit, effects, admission, health, areas }: TransportParts,
  ports: Required<OperationPorts>,
  { authenticator, tls }: PublicAccess,
) {
  return createGrpcServer({
    agents: ports.agents,
    executions: ports.executions,
    workflows: ports.workflows,
    judges: areas.judges,
    commands: effects.commands,
    stimuli: ports.stimuli,
    patterns: ports.patterns,
    seal: areas.seal,
    authenticator,
    auth: context.settings.grpc_auth,
    operationAudit: audit.operations,
    tls,
    logger: context.logger,
    version: VERSION,
    health,
    tierLimits: ports.tierLimits,
    runningLimits: ports.runningLimits,
    startKeys: ports.startKeys,
    admission,
    proxies: context.settings.network.trust_proxy,
    isOfAgents: access.networks.has,
  });
}

/** Creates the servers of the internal address, with /metrics unless the settings turn it off. */
function openInternal({ context, access, admission, health, areas, cluster, figures }: TransportParts) {
  return createInternalServers({
    seal: areas.seal,
    dispatch: areas.dispatch,
    access,
    logger: context.logger,
    health,
    metrics:
      figures === null
        ? null
        : {
            metrics: figures.metrics,
            local: () => cluster.cluster.local(),
            admission: () => admission.counts,
            lookedUp: () => figures.last,
          },
  });
}

/** Creates the server for other nodes; null unless `spec.cluster.enabled`. */
function openNodes({ context, access, audit, admission, health, areas, cluster }: TransportParts) {
  const { peers, clusterNode } = cluster;
  if (clusterNode === null) return null;
  const { role } = context.settings.cluster;
  const worker = { executions: areas.ports.executions, applyConfig: clusterNode.applyConfig };
  return createClusterServer({
    peers,
    tokens: clusterNode.tokens,
    openEnvelope: (authorization, envelope) => openNodeEnvelope(clusterNode, authorization, envelope),
    proofs: clusterNode.proofs,
    operationAudit: audit.operations,
    worker: role === 'controller' ? null : worker,
    controller: role !== 'worker',
    joins: clusterNode.joins,
    tls: clusterNode.tls,
    health,
    logger: context.logger,
    admission,
    isOfAgents: access.networks.has,
  });
}

async function listen(
  { context, access }: TransportParts,
  { rest, grpc, internal, nodes }: Servers,
  isSecure: boolean,
): Promise<Addresses> {
  const { network, cluster } = context.settings;
  const bound = await rest.listen({ host: network.bind, port: network.port, backlog: BACKLOG });
  const restUrl = isSecure ? bound.replace(/^http:/, 'https:') : bound;
  const grpcAddress = await grpc.listen(network.bind, network.grpc_port);
  const { bind, port, grpc_port } = network.internal;
  const internalUrl = await internal.rest.listen({ host: bind, port });
  access.listensAt(internalUrl, (connection) => acceptProgram(internal.rest, connection));
  const internalGrpcAddress = await internal.grpc.listen(bind, grpc_port);
  const nodesAt = (await nodes?.listen(clusterHost(context.settings), cluster.cluster_grpc_port)) ?? null;
  const clusterAddress = nodesAt === null ? null : advertised(nodesAt, cluster.advertise_host);
  return { restUrl, grpcAddress, internalUrl, internalGrpcAddress, clusterAddress };
}

interface Servers {
  readonly rest: ReturnType<typeof openRest>;
  readonly grpc: ReturnType<typeof openGrpc>;
  readonly internal: ReturnType<typeof openInternal>;
  readonly nodes: ReturnType<typeof openNodes>;
}

import { join } from 'node:path';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Members } from '../runtime/members.ts';
import type { Random } from '../runtime/random.ts';
import type { NodeAdmission, NodeProofs, NodeTokens, SigningKeys } from '../security/api.ts';
import type { CertificateFiles } from '../security/certificate-files.ts';
import type { PublishedKeys } from '../security/keys/published-keys.ts';
import { loadOrMakeNodeKey } from '../security/node-key.ts';
import { createProofGuard } from '../security/node-proofs/guard.ts';
import type { Pins } from '../security/node-proofs/proof.ts';
import { createNodeTokens } from '../security/node-tokens.ts';
import type { PushAnswer } from '../usecases/ports/cluster.ts';
import { advertisedHost, hostPort } from './advertised-host.ts';
import { startFailureDetector } from './failure-detector/failure-detector.ts';
import { startLivenessServer } from './failure-detector/liveness-server.ts';
import type { NodeControls } from './operations/node-controls.ts';
import { FleetPlacement, type OwnMemberInfo } from './placement/fleet-placement.ts';
import { nodeCapabilities } from './registration/attestation.ts';
import { clusterCredentials, openClusterCertificate } from './registration/channel.ts';
import { type ConfigVerdict, createManagedConfig } from './registration/managed-config.ts';
import {
  createControllerToken,
  type Registration,
  type RegistrationLog,
  startRegistration,
} from './registration/registration.ts';
import { type ClusterCalls, createClusterCalls } from './registration/routing-client.ts';

interface ClusterNodeParts {
  readonly settings: NodeSettings;
  readonly dataDir: string;
  readonly node: string;
  /** Keys of node tokens. */
  readonly signing: { readonly keys: SigningKeys; readonly published: PublishedKeys };
  /** Resolves a secret reference. */
  readonly resolve: (reference: string) => Promise<string>;
  /** Nodes that send proofs. */
  readonly pins: Pins;
  readonly joins: NodeAdmission;
  readonly controls: NodeControls;
  readonly activeExecutions: () => number;
  /** The current managed configuration. */
  readonly managedConfig: () => Promise<string>;
  readonly clock: Clock;
  readonly log: RegistrationLog;
  readonly warn: (message: string, error: unknown) => void;
}

/** The cluster protocol of a node with `spec.cluster.enabled`: keys, registration, calls to other nodes. */
export interface ClusterNode {
  readonly tokens: NodeTokens;
  /** Checks the proofs of incoming calls. */
  readonly proofs: NodeProofs;
  readonly joins: NodeAdmission;
  readonly tls: { readonly certificate: CertificateFiles; readonly minVersion: 'TLSv1.2' } | null;
  applyConfig(yaml: string): Promise<ConfigVerdict>;
  /** Pushes the current managed configuration to another node. */
  push(nodeId: string, grpcAddress: string): Promise<Omit<PushAnswer, 'node_id'>>;
  /** Starts an execution on a registered worker and follows its events. Throws as `ClusterCalls.forward`. */
  forward: ClusterCalls['forward'];
  /** Registers with the controllers and stays registered, unless it is a controller. Others reach this node at `grpcAddress`. */
  register(grpcAddress: string): void;
  /** Sends a heartbeat immediately, after a change. */
  heartbeatNow(): void;
  /** Deregisters. */
  close(): Promise<void>;
}

const ROLES = { controller: 'CONTROLLER', worker: 'WORKER', hybrid: 'HYBRID' } as const;

/** Throws `invalid_config` for unusable files. */
export async function openClusterNode(parts: ClusterNodeParts): Promise<ClusterNode> {
  const { settings, dataDir, node, signing, resolve, controls, clock, log, warn } = parts;
  const { cluster } = settings;
  const role = ROLES[cluster.role];
  const joinToken = cluster.controller?.token ?? cluster.join_token;
  const shownToken = async (): Promise<string | undefined> =>
    joinToken === undefined ? undefined : resolve(joinToken);
  const [key, certificate] = await Promise.all([
    loadOrMakeNodeKey(cluster.node_keypair_path ?? join(dataDir, 'node-key.pem')),
    openClusterCertificate(cluster.tls, { clock, log }),
    // Read at each use; an unreadable one is reported at the start.
    shownToken(),
    cluster.join_token === undefined ? null : resolve(cluster.join_token),
  ]);
  if (cluster.role !== 'worker') await signing.keys.open();
  const isItsOwn = role === 'HYBRID' && cluster.controller === undefined;
  if (isItsOwn) await parts.joins.welcome({ nodeId: node, publicKeyPem: key.publicKeyPem });
  const credentials = clusterCredentials(certificate);
  const tokens = createNodeTokens({ ...signing, clock });
  const managed = createManagedConfig({
    nodeId: node,
    path: join(dataDir, 'managed-config.yaml'),
    setTags: controls.setTags,
    setLogLevel: controls.setLogLevel,
    setDefaultIsolation: controls.setDefaultIsolation,
    setProviders: controls.setProviders,
    warn,
  });
  await managed.restore();
  const calls = createClusterCalls({
    credentials,
    nodeToken: createControllerToken({
      tokens,
      nodeId: node,
      publicKeyPem: key.publicKeyPem,
      clock,
    }),
    privateKey: key.privateKey,
    clock,
  });
  let registration: Registration | null = null;
  return {
    tokens,
    proofs: createProofGuard({ node, pins: parts.pins, required: cluster.require_proof, clock }),
    joins: parts.joins,
    tls: certificate === null ? null : { certificate, minVersion: 'TLSv1.2' },
    applyConfig: (yaml) => managed.apply(yaml),
    async push(nodeId, grpcAddress) {
      const verdict = await calls.pushConfig({ nodeId, grpcAddress }, await parts.managedConfig());
      return verdict.accepted ? { accepted: true, reason: null } : verdict;
    },
    forward: (to, request, options) => calls.forward(to, request, options),
    register(grpcAddress) {
      if (role === 'CONTROLLER') return;
      registration = startRegistration({
        nodeId: node,
        role,
        // A hybrid without configured controllers is its own controller.
        controllers: cluster.controller?.endpoint ?? [grpcAddress],
        credentials,
        joinToken: shownToken,
        key,
        grpcAddress,
        capabilities: () =>
          nodeCapabilities({ resources: settings.node.resources, tags: controls.tags, runtimes: ['process'] }),
        activeExecutions: parts.activeExecutions,
        draining: () => controls.draining,
        heartbeatIntervalMs: cluster.heartbeat_interval_secs * 1_000,
        tokenRefreshMarginMs: cluster.token_refresh_margin_secs * 1_000,
        onDrain: () => controls.drain(),
        onShutdown: (reason) => controls.shutDown(reason),
        applyConfig: (yaml) => managed.apply(yaml),
        log,
        clock,
      });
    },
    heartbeatNow: () => registration?.heartbeatNow(),
    async close() {
      await registration?.stop('graceful_shutdown');
      calls.close();
      certificate?.close();
    },
  };
}

interface JoinFleetOptions {
  readonly members: Members;
  readonly node: string;
  readonly info: Omit<OwnMemberInfo, 'pulse' | 'clusterAddress' | 'restUrl' | 'startedAt'>;
  readonly leaseTtlMs: number;
  /** Address of the liveness server; null without a failure detector (one process on its own store). */
  readonly livenessHost: string | null;
  readonly advertiseHost: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (message: string, error: unknown) => void;
}

interface FleetMembership {
  readonly placement: FleetPlacement;
  /** Call it last: peers consider this incarnation dead once its liveness server is gone. */
  close(): Promise<void>;
}

/** Membership of this node: its placement, and the failure detector. */
export async function joinFleet(options: JoinFleetOptions): Promise<FleetMembership> {
  const { members, node, leaseTtlMs, livenessHost, clock, random, warn } = options;
  const info = { ...options.info, startedAt: clock.now(), pulse: null, clusterAddress: null, restUrl: null };
  const placement = new FleetPlacement({ members, node, info, leaseTtlMs, clock, random, warn });
  if (livenessHost === null) return { placement, close: async () => {} };
  const server = await startLivenessServer({ node, incarnation: placement.incarnation, host: livenessHost, warn });
  await placement.changeInfo({ pulse: hostPort(advertisedHost(options.advertiseHost, server.host), server.port) });
  const watch = startFailureDetector({
    node,
    clock,
    random,
    onDead(dead, incarnation) {
      warn(`node ${dead} has died`, undefined);
      placement
        .declareDead(dead, incarnation)
        .catch((thrown: unknown) => warn(`dead node ${dead} could not be retired; its lease will expire`, thrown));
    },
  });
  const unwatch = placement.onMembers((live) => watch.watch(live));
  return {
    placement,
    async close() {
      unwatch();
      watch.close();
      await server.close();
    },
  };
}

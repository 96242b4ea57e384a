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
import { startFailureDetector } from './failure-detector/failure-detector.ts';
import { advertisedHost, hostPort, startLivenessServer } from './failure-detector/liveness-server.ts';
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
import { createClusterCalls } from './registration/routing-client.ts';

export interface ClusterNodeParts {
  readonly settings: NodeSettings;
  readonly dataDir: string;
  readonly node: string;
  /** What node tokens are signed and verified with. */
  readonly signing: { readonly keys: SigningKeys; readonly published: PublishedKeys };
  /** A secret reference to its value. */
  readonly resolve: (reference: string) => Promise<string>;
  /** Nodes that have sent proofs. */
  readonly pins: Pins;
  readonly joins: NodeAdmission;
  readonly controls: NodeControls;
  readonly activeExecutions: () => number;
  /** What controllers manage now. */
  readonly managedConfig: () => Promise<string>;
  readonly clock: Clock;
  readonly log: RegistrationLog;
  readonly warn: (message: string, error: unknown) => void;
}

/** What a node with `spec.cluster.enabled` has beside its seat: keys, its word to controllers, calls to other nodes. */
export interface ClusterNode {
  readonly tokens: NodeTokens;
  /** Checks the proofs of calls that arrive. */
  readonly proofs: NodeProofs;
  readonly joins: NodeAdmission;
  readonly tls: { readonly certificate: CertificateFiles; readonly minVersion: 'TLSv1.2' } | null;
  applyConfig(yaml: string): Promise<ConfigVerdict>;
  /** PushConfig of what is in force to another node. */
  push(nodeId: string, grpcAddress: string): Promise<Omit<PushAnswer, 'node_id'>>;
  /** Registers with the controllers and stays so; `grpcAddress` is how others reach this node. Controllers do not. */
  register(grpcAddress: string): void;
  /** Heartbeats before it is due: something changed. */
  heartbeatNow(): void;
  /** Deregisters. */
  close(): Promise<void>;
}

const ROLES = { controller: 'CONTROLLER', worker: 'WORKER', hybrid: 'HYBRID' } as const;

/** Throws `invalid_config` for files that cannot be used. */
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
    // Read with each use; one that cannot be had is told at the start.
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
    warn,
  });
  await managed.restore();
  const calls = createClusterCalls({
    controllers: null,
    credentials,
    nodeToken: createControllerToken({
      tokens,
      nodeId: node,
      role: 'CONTROLLER',
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
    register(grpcAddress) {
      if (role === 'CONTROLLER') return;
      registration = startRegistration({
        nodeId: node,
        role,
        // A hybrid that is told of no controllers is one itself.
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
  /** Where the pulse listens; null: this node is not watched and watches nobody (one process on its own store). */
  readonly livenessHost: string | null;
  readonly advertiseHost: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (message: string, error: unknown) => void;
}

interface FleetMembership {
  readonly placement: FleetPlacement;
  /** Last of all: peers that cannot reach the pulse any more take this life for dead. */
  close(): Promise<void>;
}

/** This node's seat among the members: its placement, and the pulses that tell early when one of them dies. */
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
        .catch((thrown: unknown) => warn(`the end of node ${dead} could not be told; its lease runs out`, thrown));
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

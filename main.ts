import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { type Logger, pino } from 'pino';
import { createExecutionApi, type ExecutionApi } from './actors/execution/api.ts';
import { execution } from './actors/execution/definition.ts';
import { EXECUTIONS, type ExecutionDocument } from './actors/execution/view.ts';
import { fleet as fleetActor } from './actors/fleet/definition.ts';
import { nodeChallengeActor } from './actors/node-challenge/definition.ts';
import { nodePeerActor } from './actors/node-peer/definition.ts';
import { createNodePeerApi } from './actors/node-peer/node-peers.ts';
import { createAgentCatalog } from './catalog/agent-catalog.ts';
import { createChaos } from './cluster/chaos/create-chaos.ts';
import { kernelFaults } from './cluster/chaos/kernel-faults.ts';
import { joinFleet } from './cluster/join-fleet.ts';
import { createClusterApi, onOperatorWord } from './cluster/operations/create-cluster-api.ts';
import { localNode } from './cluster/operations/local-node.ts';
import { createNodeControls } from './cluster/operations/node-controls.ts';
import { createModelEffect } from './effects/models/model-effect.ts';
import { endLeftovers } from './effects/programs/leftovers.ts';
import { createProgramEffect } from './effects/programs/program-effect.ts';
import { startWorkspaceSweep } from './effects/programs/workspace-sweep.ts';
import { readFlags, readSettings } from './read-settings.ts';
import { systemClock } from './runtime/clock.ts';
import { openDataDirectory } from './runtime/data-directory.ts';
import type { ActorDefinition } from './runtime/define-actor.ts';
import type { EffectHandler } from './runtime/effect.ts';
import { SvcError } from './runtime/errors.ts';
import { SYSTEM_TENANT } from './runtime/identity.ts';
import { type OpenStores, openStores } from './runtime/open-stores.ts';
import { systemRandom } from './runtime/random.ts';
import { runtimeDefaults, startRuntime } from './runtime/runtime.ts';
import { createAuthenticator } from './security/authenticator.ts';
import { createFileSecrets } from './security/file-secrets.ts';
import { authenticatorSettings } from './security/settings.ts';
import { createGrpcServer } from './transport/grpc/server.ts';
import { createRestServer } from './transport/rest/server.ts';

export const VERSION = '0.1.0';

export interface NodeInput {
  /** By long name without dashes. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For embedding: where the log goes. Default: standard error. */
  readonly logger?: Logger;
  /** For embedding: actor kinds and effects of one's own (docs/adding-an-actor.md). */
  readonly actors?: readonly ActorDefinition[];
  readonly effects?: readonly EffectHandler[];
}

export interface Node {
  readonly id: string;
  readonly restUrl: string;
  readonly grpcAddress: string;
  /** Lines a person wants to read at the start: where data is kept, how durable, who is let in. */
  readonly notes: readonly string[];
  /** Refuses new calls, lets running turns commit, gives everything back. */
  stop(): Promise<void>;
  /** Resolves when it has stopped, also when an operator told it to. */
  readonly stopped: Promise<void>;
}

/** The process, part by part (design, Layout): settings, stores, seat in the fleet, runtime, areas, transports. */
export async function startNode(input: NodeInput): Promise<Node> {
  const settings = await readSettings(input);
  const { network, stores, kernel, iam } = settings;
  const dataDir = resolve(stores.data_dir);
  const { nodeId } = await openDataDirectory(dataDir);
  const logger = input.logger ?? pino({ level: settings.observability.logging.level, base: null }, pino.destination(2));
  const warn = (message: string, error: unknown): void => logger.warn({ err: error }, message);
  const node = settings.node.id ?? nodeId;
  const workspaces = join(dataDir, 'workspaces');
  const secrets = createFileSecrets({ directory: join(dataDir, 'secrets'), environment: input.env });
  const resolveUrl = (reference: string): Promise<string> => secrets.resolve(SYSTEM_TENANT, reference);
  const ports = await openStores({
    dataDir,
    warn,
    waitReplicas: kernel.wait_replicas,
    ...(stores.redis === undefined ? {} : { redis: await Promise.all(stores.redis.map(resolveUrl)) }),
    ...(stores.mongodb === undefined ? {} : { mongodb: await resolveUrl(stores.mongodb) }),
  });
  return closingOnFailure(ports, async () => {
    // Programs of an earlier life of this node, whose results nobody waits for any more.
    await endLeftovers(workspaces);
    const seat = await joinFleet({
      members: ports.store,
      node,
      card: { role: settings.cluster.role, tags: settings.node.tags, weight: settings.node.weight, version: VERSION },
      leaseTtlMs: kernel.lease_ttl_ms,
      pulseHost: stores.redis === undefined ? null : (settings.cluster.bind ?? network.bind),
      advertiseHost: settings.cluster.advertise_host,
      clock: systemClock,
      random: systemRandom,
      warn,
    });
    const fleet = seat.placement;
    const beats = { heartbeatIntervalMs: settings.cluster.heartbeat_interval_secs * 1_000 };
    const controls = createNodeControls({ fleet, settings, logger, onShutDown: (reason) => shutDown(reason) });
    const runtime = await startRuntime({
      ...ports,
      definitions: [execution, fleetActor, nodeChallengeActor(), nodePeerActor(beats), ...(input.actors ?? [])],
      handlers: [
        createModelEffect({ providers: settings.llm_providers, selection: settings.llm_selection, secrets }),
        createProgramEffect({
          workspaces,
          allow: (tenant) => iam.realms.length === 0 || settings.runtime.host_commands.allow.includes(tenant),
          secrets,
          ...(settings.runtime.bootstrap_dir === undefined ? {} : { baseDirectory: settings.runtime.bootstrap_dir }),
        }),
        ...(input.effects ?? []),
      ],
      node,
      placement: fleet,
      settings: {
        partitions: kernel.partitions,
        tagPoolPartitions: kernel.tag_pool_partitions,
        leaseTtlMs: kernel.lease_ttl_ms,
        leaseRenewMs: kernel.lease_renew_ms,
        mailboxBound: kernel.mailbox_bound,
        passivateAfterMs: kernel.passivate_after_ms,
        retry: { ...runtimeDefaults.retry, maxAttempts: kernel.max_turn_attempts },
      },
      warn,
    });

    const agents = await createAgentCatalog({ documents: ports.documents, clock: systemClock, random: systemRandom });
    const executions = createExecutionApi({
      client: runtime.client,
      executions: await ports.documents.collection<ExecutionDocument>(EXECUTIONS),
      archive: runtime.archive,
      node: () => ({ isolation: controls.isolation }),
    });
    const stopSweep = startWorkspaceSweep({ workspaces, ended: endedIn(executions), clock: systemClock, warn });
    const authenticator = createAuthenticator(authenticatorSettings(settings));
    const health = {
      ready: async () =>
        controls.draining
          ? { ready: false, why: 'the node drains' }
          : runtime.ready()
            ? { ready: true }
            : {
                ready: false,
                why: 'the node holds no lease: the store does not answer, or another process has its id',
              },
    };
    const peers = createNodePeerApi({ client: runtime.client, random: systemRandom, randomBytes });
    const cluster = createClusterApi({
      fleet,
      members: ports.store,
      clock: systemClock,
      local: () => localNode({ node, incarnation: fleet.incarnation, role: settings.cluster.role, runtime, controls }),
      peers: () => peers.list(),
      push: async () => ({ accepted: false, reason: 'spec.cluster.enabled is false' }),
    });
    const chaos = await createChaos({
      members: ports.store,
      documents: ports.documents,
      node,
      faults: kernelFaults(runtime, fleet),
      settings: settings.chaos,
      clock: systemClock,
      random: systemRandom,
      warn,
    });
    const unhear = onOperatorWord(ports.store, node, ({ operator, reason }) => {
      if (operator === 'drain') controls.drain().catch((thrown: unknown) => warn('draining failed', thrown));
      if (operator === 'shutdown') controls.shutDown(reason);
    });
    const transports = { agents, executions, authenticator, logger, version: VERSION, health };
    const rest = createRestServer({ ...transports, cluster, peers, chaos });
    const grpc = createGrpcServer({ ...transports, auth: settings.grpc_auth });

    const { promise: stopped, resolve: hasStopped } = Promise.withResolvers<void>();
    let stopping: Promise<void> | null = null;
    const stop = (): Promise<void> => {
      stopping ??= stopAll().finally(hasStopped);
      return stopping;
    };
    const stopAll = async (): Promise<void> => {
      unhear();
      chaos.close();
      stopSweep();
      await Promise.all([rest.close(), grpc.close()]);
      await runtime.stop();
      await seat.close();
      await authenticator.close();
      await ports.close();
    };
    const shutDown = (reason: string): void => {
      logger.info({ reason }, 'the node was told to end');
      stop().catch((thrown: unknown) => warn('the node did not stop in order', thrown));
    };
    try {
      const restUrl = await rest.listen({ host: network.bind, port: network.port });
      const grpcAddress = await grpc.listen(network.bind, network.grpc_port);
      await fleet.changeCard({ restUrl });
      const access = authenticator.required
        ? 'callers need a bearer token'
        : 'no identity provider: every call acts as the local operator in tenant svc-system';
      return { id: node, restUrl, grpcAddress, notes: [...ports.notes, access], stop, stopped };
    } catch (thrown) {
      await stop();
      throw thrown;
    }
  });
}

/** Gives the stores back when what is built on them cannot start. */
async function closingOnFailure(ports: OpenStores, build: () => Promise<Node>): Promise<Node> {
  try {
    return await build();
  } catch (thrown) {
    await ports.close();
    throw thrown;
  }
}

/** An execution that is unknown has ended too: it was removed. */
const endedIn =
  (executions: ExecutionApi) =>
  async (tenant: string, id: string): Promise<boolean> => {
    try {
      return (await executions.status(tenant, id)).status !== 'running';
    } catch (thrown) {
      if (thrown instanceof SvcError && thrown.code === 'not_found') return true;
      throw thrown;
    }
  };

/** Runs until a signal says stop; prints what a person needs to go on. */
export async function runNode(args: readonly string[]): Promise<void> {
  const startedAt = performance.now();
  const node = await startNode({ flags: readFlags(args), env: process.env });
  console.log(`svc ${VERSION}  node ${node.id}  up in ${Math.round(performance.now() - startedAt)} ms`);
  console.log(`REST        ${node.restUrl}  (to read: ${node.restUrl}/docs)`);
  console.log(`SvcRuntime  ${node.grpcAddress}`);
  for (const note of node.notes) console.log(`            ${note}`);
  let stopping = false;
  const stop = (): void => {
    // A second signal means now.
    if (stopping) process.exit(1);
    stopping = true;
    node.stop().catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  };
  node.stopped.then(() => process.exit(0), console.error);
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/** Why the node did not start. Only what nobody foresaw comes with its stack. */
function failureText(error: unknown): unknown {
  if (error instanceof SvcError) return error.message;
  const inUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  return inUse ? `${error.message} (choose another port; 0 picks a free one)` : error;
}

if (import.meta.main) {
  runNode(process.argv.slice(2)).catch((error: unknown) => {
    console.error(failureText(error));
    process.exitCode = 1;
  });
}

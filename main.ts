import { flushCompileCache } from 'node:module';
import { join, resolve } from 'node:path';
import { pino } from 'pino';
import { executionActor } from './actors/execution/definition.ts';
import { EXECUTIONS, type ExecutionDocument } from './actors/execution/view.ts';
import { nodeActors } from './actors/node-peer/definition.ts';
import { toolSessionActor } from './actors/tool-session/definition.ts';
import { announcement, onTheWire, whoMayCall } from './app/announcement.ts';
import { LateAreas } from './app/areas.ts';
import { openCallers } from './app/callers.ts';
import { openAgents, openSearch } from './app/catalogs.ts';
import { openDataDirectory } from './app/data-directory.ts';
import { openEffects } from './app/effects.ts';
import { openFleet, openSigning } from './app/fleet.ts';
import { standardErrorLog } from './app/log-output.ts';
import { managementPorts } from './app/management.ts';
import type { Node, NodeInput } from './app/node.ts';
import { endOnFaults, faultFields } from './app/process-faults.ts';
import { retentionOf } from './app/retention.ts';
import { createServers, openNetworkCertificate } from './app/servers.ts';
import { executionOffer, openAgentAccess, openToolAreas } from './app/tool-areas.ts';
import { toolPolicy } from './app/tools.ts';
import { openWorkflowAreas, waitsOf, workflowActors } from './app/workflow-areas.ts';
import { joinFleet } from './cluster/cluster-node.ts';
import { watchFormats } from './cluster/operations/format-watch.ts';
import { createNodeControls, readiness } from './cluster/operations/node-controls.ts';
import { openOperations } from './cluster/operations/open-operations.ts';
import { configFile, heartbeats, kernelSettings, readFlags, readSettings } from './read-settings.ts';
import { systemClock } from './runtime/clock.ts';
import { SvcError } from './runtime/errors.ts';
import { SYSTEM_TENANT } from './runtime/identity.ts';
import { openStores } from './runtime/open-stores.ts';
import { systemRandom } from './runtime/random.ts';
import { createRuntime } from './runtime/runtime.ts';
import { FORMAT, VERSION } from './runtime/store-formats.ts';
import { createAuthenticator } from './security/authenticator.ts';
import { createFileSecrets } from './security/file-secrets.ts';
import { openLocalToken } from './security/local-token.ts';
import { authenticatorSettings } from './security/settings.ts';
import { createDispatchApi } from './usecases/dispatches.ts';
import { createExecutionApi } from './usecases/executions.ts';
import { Admission } from './usecases/starts/admission.ts';
import { openStartKeys } from './usecases/starts/start-keys.ts';
import { isStartedBy } from './usecases/waits/wait-reason.ts';

export type { Node, NodeInput } from './app/node.ts';
export { VERSION };

/** Longest wait for a slow log reader or disk before the process ends, ms. */
const LOG_FLUSH_MS = 1_000;
const NOT_ENABLED = { accepted: false, reason: 'spec.cluster.enabled is false on this node' };

/** Starts a node part by part: settings, stores, fleet, runtime, areas, transports. */
export async function startNode(input: NodeInput): Promise<Node> {
  // Everything opened is closed in reverse order, also when a later part fails to start.
  await using opened = new AsyncDisposableStack();
  const settings = await readSettings(input);
  const { network, stores, kernel, iam } = settings;
  const dataDir = resolve(stores.data_dir);
  const { nodeId } = await openDataDirectory(dataDir);
  const logger = input.logger ?? pino({ level: settings.observability.logging.level, base: null }, standardErrorLog());
  const warn = (message: string, error: unknown): void => logger.warn({ err: error }, message);
  const world = { node: settings.node.id ?? nodeId, clock: systemClock, random: systemRandom, warn };
  const { node } = world;
  const workspaces = join(dataDir, 'workspaces');
  const secrets = createFileSecrets({ directory: join(dataDir, 'secrets'), environment: input.env });
  const resolveSecret = (reference: string): Promise<string> => secrets.resolve(SYSTEM_TENANT, reference);
  const ports = await openStores({
    dataDir,
    warn,
    waitReplicas: kernel.wait_replicas,
    acceptOlderDocuments: stores.accept_older_documents,
    ...(stores.redis === undefined ? {} : { redis: await Promise.all(stores.redis.map(resolveSecret)) }),
    ...(stores.mongodb === undefined ? {} : { mongodb: await resolveSecret(stores.mongodb) }),
  });
  opened.defer(() => ports.close());

  const signing = openSigning({ ...world, settings, dataDir, documents: ports.documents, resolve: resolveSecret });
  opened.defer(() => signing.keys.close());

  const clusterHost = settings.cluster.bind ?? network.bind;
  const seat = await joinFleet({
    ...world,
    members: ports.store,
    info: {
      ...{ role: settings.cluster.role, tags: settings.node.tags, weight: settings.node.weight },
      ...{ version: VERSION, format: FORMAT },
    },
    leaseTtlMs: kernel.lease_ttl_ms,
    livenessHost: stores.redis === undefined ? null : clusterHost,
    advertiseHost: settings.cluster.advertise_host,
  });
  opened.defer(() => seat.close());
  const fleet = seat.placement;
  const told = Promise.withResolvers<string>();
  const controls = createNodeControls({ fleet, settings, logger, onShutDown: told.resolve });
  const areas = new LateAreas();
  const allow = (tenant: string): boolean =>
    iam.realms.length === 0 || settings.runtime.host_commands.allow.includes(tenant);
  const access = openAgentAccess({ ...world, settings, signing });
  const callers = await openCallers({ ...ports, ...world, settings, logger, dataDir });
  opened.defer(() => callers.close());
  const { keys, tierLimits, rateOverrides, secretStore } = callers;
  const effects = await openEffects({
    ...{ ...ports, ...world, settings, dataDir, workspaces, env: input.env, secrets, allow, areas, access, tierLimits },
    ...{ log: logger, version: VERSION },
  });
  opened.defer(() => effects.close());
  const policy = toolPolicy(settings);
  const runtime = await createRuntime({
    ...ports,
    ...world,
    placement: fleet,
    definitions: [
      ...[executionActor({ policy }), toolSessionActor({ policy })],
      ...[...workflowActors(settings), ...nodeActors(heartbeats(settings)), ...(input.actors ?? [])],
    ],
    handlers: [...effects.handlers, ...(input.effects ?? [])],
    contracted: () => ports.formats.isAlone(3),
    settings: kernelSettings(settings),
    retention: retentionOf({ settings: settings.retention, documents: ports.documents, logger }),
  });
  opened.defer(() => runtime.stop());

  const { agents, builtIns, inUse, oldAgents } = await openAgents({
    ...{ ...world, documents: ports.documents, settings, overrides: rateOverrides },
  });
  const search = openSearch({ ...world, documents: ports.documents, settings, secrets, builtIns });
  const waits = waitsOf(runtime, ports.store, effects.gates);
  const executions = createExecutionApi({
    waits,
    client: runtime.client,
    executions: await ports.documents.collection<ExecutionDocument>(EXECUTIONS),
    removals: runtime.removals,
    node: executionOffer({ settings, controls, log: logger }),
  });
  const dispatch = createDispatchApi({ client: runtime.client, blobs: ports.blobs });
  const workflowAreas = await openWorkflowAreas({
    ...{ ...world, runtime, agents, builtIns, inUse, executions, dispatch, waits, settings, resolveSecret, areas },
    documents: ports.documents,
  });
  const admission = new Admission({
    ...{ ...world, limits: settings.limits },
    onChange(refuses, seen) {
      logger.warn(seen, refuses ? 'the node is overloaded: new work is refused' : 'new work is taken again');
    },
  });
  opened.defer(async () => admission.close());
  const toolAreas = await openToolAreas({
    ...{ ...ports, ...world, runtime, settings, signing, granter: effects.granter, admission },
  });
  const { peers, clusterNode, joinTokens } = await openFleet({
    ...{ ...ports, ...world, settings, dataDir, controls, runtime, signing, logger, resolve: resolveSecret },
  });
  const operations = await openOperations({
    ...{ ...world, settings, fleet, runtime, controls, stores: ports },
    peers: () => peers.list(),
    onDrained: () => clusterNode?.heartbeatNow(),
    push: (id, address) => clusterNode?.push(id, address) ?? Promise.resolve(NOT_ENABLED),
  });

  const certificate = await openNetworkCertificate(settings.network.tls, { clock: systemClock, log: logger });
  opened.defer(async () => certificate?.certificate.close());
  const localToken = await openLocalToken(dataDir, iam);
  const authenticator = createAuthenticator(
    { ...authenticatorSettings(settings), ...(localToken === null ? {} : { localToken }) },
    systemClock,
    keys,
  );
  opened.defer(() => authenticator.close());
  const health = { ready: async () => readiness(runtime, controls) };
  const { volumes, commands, patterns, runsImages } = effects;
  const startKeys = await openStartKeys({
    ...{ ...world, ...ports, executions, ...workflowAreas.workflows },
    startedBy: (caller, id) => isStartedBy(runtime.client, caller, id),
  });
  const allowance = await callers.running({ executions, workflows: workflowAreas.workflows.workflows });
  const management = managementPorts({
    ...{ ...world, ...ports, agents, executions, tierLimits, ...allowance, volumes, settings },
    ...workflowAreas.workflows,
    ...{ judges: workflowAreas.judges, search, version: VERSION, health, configPath: configFile(input), runsImages },
  });
  areas.provideManagement(management);
  const servers = createServers({
    ...{
      agents,
      executions,
      ...workflowAreas,
      ...toolAreas,
      ...operations,
      peers,
      dispatch,
      joinTokens,
    },
    ...{ volumes, commands, patterns, keys, rateOverrides, secretStore, startKeys, admission, ...allowance },
    ...{ search, intents: management.intents, authors: management.authors },
    ...{ settings, clusterNode, clusterHost, access, tierLimits, authenticator, logger, version: VERSION, health },
    ...(certificate === null ? {} : { tls: certificate }),
    nodeTokens: { keySet: async () => ({ keys: await signing.published.all() }) },
  });
  opened.defer(() => servers.close());
  opened.defer(async () => clusterNode?.close());
  opened.defer(() => operations.close());

  opened.defer(
    watchFormats({
      ...{ ...world, fleet },
      whileOlder: () => oldAgents.copy(),
      async contract() {
        await oldAgents.take();
        await ports.formats.contract();
      },
    }),
  );
  const addresses = await servers.listen();
  const { restUrl, clusterAddress } = addresses;
  await fleet.changeInfo({ restUrl, clusterAddress });
  // Only now that everything is loaded does it take partitions from other nodes, so that it serves them at once.
  await runtime.serve();
  if (clusterAddress !== null) clusterNode?.register(clusterAddress);
  // Node.js writes the cache only at an orderly exit: after a kill the next start would compile everything again.
  flushCompileCache();

  const running = opened.move();
  const { promise: stopped, resolve: hasStopped } = Promise.withResolvers<void>();
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopping ??= running.disposeAsync().finally(hasStopped);
    return stopping;
  };
  const endAsTold = async (): Promise<void> => {
    logger.info({ reason: await told.promise }, 'the node was told to end');
    await stop();
  };
  endAsTold().catch((thrown: unknown) => warn('the node did not stop in order', thrown));
  return {
    id: node,
    ...addresses,
    notes: [...ports.notes, whoMayCall(iam, dataDir), ...onTheWire(settings.network)],
    stop,
    stopped,
  };
}

/** Runs a node until a signal stops it. Prints what a person needs to continue. */
export async function runNode(args: readonly string[]): Promise<void> {
  const startedAt = performance.now();
  const log = standardErrorLog();
  const logger = pino({ base: null }, log);
  let started: Node | null = null;
  const exit = (code: number): void => {
    log.flush(LOG_FLUSH_MS).then(() => process.exit(code), console.error);
  };
  const faults = endOnFaults({ logger, stop: () => started?.stop() ?? null, exit });
  let told = false;
  const end = (node: Node): void => {
    node.stop().catch((error: unknown) => {
      logger.fatal({ error: faultFields(error) }, 'the node did not stop in order');
      exit(1);
    });
  };
  const stop = (): void => {
    // A second signal ends the process at once.
    if (told) process.exit(1);
    told = true;
    if (started !== null) end(started);
  };
  // Installed before the start, so that a signal during the start ends the node as soon as it has started.
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  const node = await startNode({ flags: readFlags(args), env: process.env });
  started = node;
  node.stopped.then(() => exit(faults.came ? 1 : 0), console.error);
  if (told) end(node);
  // Printed last, since a program that reads these lines may stop the node at once.
  for (const line of announcement(node, VERSION, performance.now() - startedAt)) console.log(line);
}

/** Why the node did not start. Only an unexpected error keeps its stack. */
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

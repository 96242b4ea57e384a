import { flushCompileCache } from 'node:module';
import { pino } from 'pino';
import { announcement, onTheWire, whoMayCall } from './app/announcement.ts';
import { type Areas, openAreas } from './app/areas.ts';
import { openAudit } from './app/audit.ts';
import { openCallers } from './app/callers.ts';
import { areasOnceOpen, type EffectAreas, workersOnceOpen } from './app/effect-areas.ts';
import { openEffects } from './app/effects.ts';
import { openFigures, timedStores } from './app/figures.ts';
import { openCluster, openMembership, openModels, openSigning } from './app/fleet.ts';
import { heapKeeper } from './app/heap-growth.ts';
import { standardErrorLog } from './app/log/log-output.ts';
import { RunLog } from './app/log/run-log.ts';
import type { Node, NodeInput } from './app/node.ts';
import { type NodeContext, openNodeContext } from './app/node-context.ts';
import { endOnFaults, faultFields } from './app/process-faults.ts';
import { productActors } from './app/product-actors.ts';
import { retentionOf } from './app/retention.ts';
import { payloadEncryption, withSecrets } from './app/secrets.ts';
import { openTransports } from './app/servers.ts';
import { openAgentAccess } from './app/tool-areas.ts';
import { openTracing } from './app/tracing.ts';
import { watchFormats } from './cluster/operations/format-watch.ts';
import { createNodeControls, readiness } from './cluster/operations/node-controls.ts';
import type { FleetPlacement } from './cluster/placement/fleet-placement.ts';
import type { WorkerCalls } from './effects/starts/forward-execution.ts';
import { kernelSettings, readFlags } from './read-settings.ts';
import type { ActorDefinition } from './runtime/define-actor.ts';
import type { EffectHandler } from './runtime/effect.ts';
import { SvcError } from './runtime/errors.ts';
import type { Unsubscribe } from './runtime/leases.ts';
import type { Placement } from './runtime/locator.ts';
import { noMeter } from './runtime/meter.ts';
import { type OpenStores, openStores, type PayloadEncryption } from './runtime/open-stores.ts';
import { createRuntime, type Runtime } from './runtime/runtime.ts';
import { VERSION } from './runtime/store-formats.ts';
import type { Tracing } from './runtime/tracing/spans.ts';
import { NodeMetrics } from './transport/internal/node-metrics.ts';
import { Admission } from './usecases/starts/admission.ts';

export type { Node, NodeInput } from './app/node.ts';
export { VERSION };

/** Longest wait for a slow log reader or disk before the process ends, ms. */
const LOG_FLUSH_MS = 1_000;

/** Starts a node part by part: settings, stores, fleet, runtime, areas, transports. */
export async function startNode(input: NodeInput): Promise<Node> {
  // Everything opened is closed in reverse order, also when a later part fails to start.
  await using opened = new AsyncDisposableStack();
  const started = await openNodeContext(input);
  const { settings, logger } = started;
  const metrics = settings.observability.metrics.enabled ? new NodeMetrics() : null;
  const encryption = payloadEncryption(started, input.secretKeys);
  const stores = timedStores(await openNodeStores(started, encryption), metrics);
  opened.defer(() => stores.close());
  const secrets = encryption.opened();
  const context = withSecrets(started, secrets.secrets);
  const signing = openSigning({ context, documents: stores.documents });
  opened.defer(() => signing.keys.close());
  const now = (): Promise<number> => stores.store.now();
  const audit = await openAudit({ context, documents: stores.documents, now, signing });
  opened.defer(() => audit.close());
  const membership = await openMembership({ context, members: stores.store });
  opened.defer(() => membership.close());
  const { placement } = membership;
  const shutDown = Promise.withResolvers<string>();
  const models = openModels(context);
  const controls = createNodeControls({
    fleet: placement,
    settings,
    logger,
    onShutDown: shutDown.resolve,
    onProviders: models.manage,
  });
  const access = openAgentAccess({ context, signing });
  const callers = await openCallers({ context, stores, secrets });
  opened.defer(() => callers.close());

  // Effects call areas (an effect of a workflow starts an agent), areas call actors through the runtime, and the runtime
  // runs the effects. To close this circle, effects get the areas before they exist: calls wait until `areasOpen` resolves.
  const areasOpen = Promise.withResolvers<EffectAreas>();
  const { tierLimits } = callers;
  const workersOpen = Promise.withResolvers<WorkerCalls>();
  const effects = await openEffects({
    context,
    stores,
    access,
    tierLimits,
    areas: areasOnceOpen(areasOpen.promise),
    workers: workersOnceOpen(workersOpen.promise),
    models,
    audit,
  });
  opened.defer(() => effects.close());
  // When the start fails, calls that wait for the areas end with this error. Once the areas are open it has no effect.
  for (const { promise, reject } of [areasOpen, workersOpen]) {
    promise.catch(() => {});
    opened.defer(async () => reject(new SvcError('unavailable', 'the node did not start')));
  }
  const handlers = [...effects.handlers, ...(input.effects ?? [])];
  const spans = await openTracing(context, metrics);
  opened.defer(() => spans.close());
  const { tracing } = spans;
  const runtime = await openRuntime({
    context,
    stores,
    placement,
    handlers,
    metrics,
    tracing,
    ownActors: input.actors ?? [],
  });
  opened.defer(() => runtime.stop());
  const admission = openAdmission(context);
  opened.defer(async () => admission.close());
  const health = { ready: async () => readiness(runtime, controls, stores) };
  const areas = await openAreas({
    context,
    stores,
    signing,
    audit,
    callers,
    effects,
    runtime,
    placement,
    controls,
    admission,
    health,
  });
  areasOpen.resolve(areas.forEffects);

  const figures = openFigures(metrics, { context, stores, runtime, areas });
  opened.defer(async () => figures?.close());
  const cluster = await openCluster({ context, stores, signing, runtime, placement, controls });
  workersOpen.resolve(cluster.workers);
  // A start that fails below closes it here; later it is closed before the transports, through which it deregisters.
  await using unfinished = new AsyncDisposableStack();
  unfinished.defer(() => cluster.close());
  const transports = await openTransports({
    context,
    access,
    signing,
    audit,
    callers,
    effects,
    admission,
    health,
    areas,
    cluster,
    figures,
  });
  opened.defer(() => transports.close());
  opened.use(unfinished.move());
  opened.defer(contractFormats({ context, stores, placement, areas }));

  const { dashboardPage, ...addresses } = await transports.listen();
  const { restUrl, clusterAddress } = addresses;
  await effects.checked();
  await placement.changeInfo({ restUrl, clusterAddress });
  // Only now that everything is loaded does the runtime acquire partitions, so that it serves them at once.
  await runtime.serve();
  if (clusterAddress !== null) cluster.clusterNode?.register(clusterAddress);
  // Node.js writes the cache only at an orderly exit: after a kill the next start would compile everything again.
  flushCompileCache();
  const notes = [
    ...stores.notes,
    ...secrets.notes,
    whoMayCall(settings.iam, context.dataDir, dashboardPage),
    ...onTheWire(settings.network),
  ];
  return { id: context.node, ...addresses, notes, ...stopping(context, opened.move(), shutDown.promise) };
}

/** Opens Redis and MongoDB if the settings name them, else SQLite files. */
async function openNodeStores(
  { settings, dataDir, resolveSecret, warn }: NodeContext,
  encryption: PayloadEncryption,
): Promise<OpenStores> {
  const { redis, mongodb, accept_older_documents } = settings.stores;
  return openStores({
    dataDir,
    redis: redis && (await Promise.all(redis.map(resolveSecret))),
    mongodb: mongodb && (await resolveSecret(mongodb)),
    waitReplicas: settings.kernel.wait_replicas,
    acceptOlderDocuments: accept_older_documents,
    encryption,
    warn,
  });
}

/** Creates the runtime with the actors and effects of the product and of an embedding program. It does not serve yet. */
function openRuntime(parts: {
  readonly context: NodeContext;
  readonly stores: OpenStores;
  readonly placement: Placement;
  readonly handlers: readonly EffectHandler[];
  readonly metrics: NodeMetrics | null;
  readonly tracing: Tracing;
  readonly ownActors: readonly ActorDefinition[];
}): Promise<Runtime> {
  const { context, stores, placement, handlers, metrics, tracing, ownActors } = parts;
  const { settings, node, clock, random, logger, warn } = context;
  const { store, documents, blobs, effects, formats, upkeep } = stores;
  return createRuntime({
    store,
    documents,
    blobs,
    effects,
    definitions: [...productActors(settings), ...ownActors],
    handlers,
    node,
    placement,
    settings: kernelSettings(settings),
    clock,
    random,
    upkeep,
    contracted: () => formats.isAlone(3),
    meter: new RunLog({ logger: context.logger, clock: context.clock, inner: metrics ?? noMeter }),
    tracing,
    retention: retentionOf({ settings: settings.retention, documents, logger }),
    onParked: heapKeeper(),
    warn,
  });
}

/** Refuses new work while the node is overloaded. */
function openAdmission({ settings, clock, random, logger }: NodeContext): Admission {
  return new Admission({
    limits: settings.limits,
    clock,
    random,
    onChange(refuses, seen) {
      logger.warn(
        seen,
        refuses
          ? 'the node is overloaded: new work is refused'
          : 'the node is no longer overloaded: new work is accepted again',
      );
    },
  });
}

/** Migrates the store formats while older nodes run, and contracts them when the last one has left. */
function contractFormats(parts: {
  readonly context: NodeContext;
  readonly stores: OpenStores;
  readonly placement: FleetPlacement;
  readonly areas: Areas;
}): Unsubscribe {
  const { context, stores, placement, areas } = parts;
  const { oldAgents } = areas;
  return watchFormats({
    fleet: placement,
    node: context.node,
    clock: context.clock,
    warn: context.warn,
    whileOlder: () => oldAgents.copy(),
    async contract() {
      await oldAgents.take();
      await stores.formats.contract();
    },
  });
}

/** How a running node stops: by `stop`, or by the command of an operator. */
function stopping(
  { logger, warn }: NodeContext,
  running: AsyncDisposableStack,
  shutDown: Promise<string>,
): Pick<Node, 'stop' | 'stopped'> {
  const { promise: stopped, resolve: hasStopped } = Promise.withResolvers<void>();
  let closing: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    closing ??= running.disposeAsync().finally(hasStopped);
    return closing;
  };
  const stopOnCommand = async (): Promise<void> => {
    logger.info({ reason: await shutDown }, 'an operator stopped the node');
    await stop();
  };
  stopOnCommand().catch((thrown: unknown) => warn('the node could not be stopped cleanly', thrown));
  return { stop, stopped };
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
  let isStopping = false;
  let named = logger;
  const end = (node: Node): void => {
    node.stop().catch((error: unknown) => {
      logger.fatal({ error: faultFields(error) }, 'the node did not stop cleanly');
      exit(1);
    });
  };
  const stop = (signal: NodeJS.Signals): void => {
    named.info(
      { event: 'signal', signal },
      isStopping ? 'a second signal: the node ends at once' : 'the node stops: it hands its partitions over first',
    );
    // A second signal ends the process at once.
    if (isStopping) process.exit(1);
    isStopping = true;
    if (started !== null) end(started);
  };
  // Installed before the start, so that a signal during the start ends the node as soon as it has started.
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  const node = await startNode({ flags: readFlags(args), env: process.env }).catch((thrown: unknown) => {
    throw firstOf(thrown, (error) => logger.warn({ error: faultFields(error) }, 'a part could not be closed'));
  });
  started = node;
  named = logger.child({ node: node.id });
  named.info(
    { event: 'node_started', version: VERSION, ms: Math.round(performance.now() - startedAt) },
    'the node has started',
  );
  node.stopped.then(() => exit(faults.came ? 1 : 0), console.error);
  if (isStopping) end(node);
  // Printed last, since a program that reads these lines may stop the node at once.
  for (const line of announcement(node, VERSION, performance.now() - startedAt)) console.log(line);
}

/** Why the node did not start, when closing what was open failed after that. `later` gets those errors. */
function firstOf(thrown: unknown, later: (error: unknown) => void): unknown {
  if (!(thrown instanceof Error && 'suppressed' in thrown && 'error' in thrown)) return thrown;
  later(thrown.error);
  return firstOf(thrown.suppressed, later);
}

/** What is printed when the node did not start: the message of an error that is known, or an unexpected error with its stack. */
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

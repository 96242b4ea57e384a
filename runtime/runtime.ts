import type { ActorStore } from './actor-store.ts';
import { type Address, addressOf, type Log, type Partition } from './address.ts';
import type { Blobs } from './blobs.ts';
import { MailboxClient } from './calls/mailbox-client.ts';
import type { ServedHere } from './calls/place-actor.ts';
import { type Clock, systemClock } from './clock.ts';
import { type ActorDefinition, Registry } from './define-actor.ts';
import { Dispatcher } from './dispatch/dispatcher.ts';
import { LocalStarts } from './dispatch/local-starts.ts';
import { StateBlobGc } from './dispatch/state-blob-gc.ts';
import { ChangeLog } from './documents/change-log.ts';
import type { Documents } from './documents.ts';
import type { EffectHandler } from './effect.ts';
import type { EffectQueue } from './effect-queue.ts';
import { EffectRunner } from './effects/effect-runner.ts';
import type { EffectRunnerOptions, RunnerCounts } from './effects/effect-runner-claim.ts';
import { toSvcError } from './errors.ts';
import { SYSTEM_TENANT } from './identity.ts';
import { KeptFrom } from './ledger/kept-from.ts';
import { KeyMerge } from './ledger/key-merge.ts';
import { KeyRuns } from './ledger/key-runs.ts';
import { KeyedLedger } from './ledger/keyed-ledger.ts';
import type { LedgerReader } from './ledger/ledger-reader.ts';
import { Locator, type Placement, solePlacement } from './locator.ts';
import { type Meter, noMeter } from './meter.ts';
import { Archive } from './projection/archive.ts';
import { LostActors } from './projection/lost-actors.ts';
import { Projector } from './projection/projector.ts';
import { openViews } from './projection/views.ts';
import { type Random, systemRandom } from './random.ts';
import { Removals } from './retention/removals.ts';
import { Retention, type RetentionParts, retentionPolicy, type Swept } from './retention/retention.ts';
import { type RuntimeSettings, runtimeDefaults } from './runtime-settings.ts';
import { noTracing, type Tracing } from './tracing/spans.ts';
import { ActorCache } from './turns/actor-cache.ts';
import type { RetrySettings } from './turns/actor-draft.ts';
import { encodeMessage } from './turns/codec.ts';
import { createPayloads, type Payloads } from './turns/payload.ts';

export { type RuntimeSettings, runtimeDefaults } from './runtime-settings.ts';

export interface RuntimeParts {
  /** The ports. The caller opens them, and closes them after `stop`. */
  readonly store: ActorStore;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly effects: EffectQueue;
  readonly definitions: readonly ActorDefinition[];
  readonly handlers: readonly EffectHandler[];
  /** Node id. It survives restarts, and only one live process may use it. */
  readonly node: string;
  /** Decides which node serves what. Default: this process serves everything. */
  readonly placement?: Placement;
  readonly settings?: Partial<RuntimeSettings>;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Steps of the stores' own upkeep, run after each retention sweep (open-stores.ts). */
  readonly upkeep?: RetentionParts['upkeep'];
  /** Whether no node of formats 1 and 2 is in the fleet. Default: there is none. */
  readonly contracted?: () => boolean;
  /** Absent: ended actors are never removed automatically. */
  readonly retention?: RetentionSettings;
  /** Default: nothing is counted. */
  readonly meter?: Meter;
  /** Default: spans are not exported, and every trace that begins here is sampled. */
  readonly tracing?: Tracing;
  /** Called with the number of effects that wait without a slot, after each change of it. */
  readonly onParked?: (count: number) => void;
  readonly warn: (message: string, error: unknown) => void;
}

/** The retention policy, and the callbacks that follow a removal. */
export interface RetentionSettings extends Pick<RetentionParts, 'policy' | 'intervalMs'> {
  /** Returns the ended actors that a running one still needs, beside those that belong to it. Default: none. */
  readonly neededOf?: RetentionParts['neededOf'];
  readonly onSwept?: RetentionParts['onSwept'];
  /** Default: the time of the store. */
  readonly now?: RetentionParts['now'];
  /** Removes everything else that refers to removed actors of a tenant. */
  readonly forget?: (tenant: string, addresses: readonly Address[]) => Promise<void>;
}

export interface Runtime {
  readonly client: MailboxClient;
  readonly archive: Archive;
  /** Finds recorded deliveries. Null when the node keeps no ledger. */
  readonly ledger: LedgerReader | null;
  /** Changes of list documents, in one order for all nodes. */
  readonly changes: ChangeLog;
  /** Deletes ended actors. */
  readonly removals: Removals;
  /** The parts that readers need to decode and replay recorded messages. */
  readonly recorded: RecordedParts;
  /** Runs one retention sweep now, also when another node holds the sweep's partition. */
  sweep(): Promise<Swept>;
  /** Joins the fleet and acquires the partitions of this node. */
  serve(): Promise<void>;
  /**
   * True while the node holds a node lease and partition leases that it renewed within their TTL, and reads their logs.
   */
  ready(): boolean;
  /** Partitions that this node serves now. */
  held(): readonly Partition[];
  /** Logs that this node reads. */
  logs(): readonly Log[];
  /** Logs of this node with unread entries. This is an alarm; the node is acquiring them again. */
  unread(): readonly Log[];
  /** Messages in the logs of this node that wait for the state of their actor to load. */
  postponed(): number;
  /** Actors in memory now. */
  activations(): number;
  counts(): RuntimeCounts;
  /** Stops serving one partition without telling other nodes, as if its lease had been lost. False: not held. */
  dropPartition(partition: Partition): boolean;
  /**
   * Drops an actor from memory and aborts its running effects, as if its node had died. False: it is not in memory
   * here.
   */
  dropActor(address: Address): Promise<boolean>;
  /** Freezes this process for `ms` milliseconds: nothing runs and no lease is renewed. Returns after that time. */
  freeze(ms: number): void;
  /** Ends effects, commits running batches and releases the leases. */
  stop(): Promise<void>;
}

/** The kinds of actors, the retry rules of their turns, and the large texts of their messages. */
export interface RecordedParts {
  readonly registry: Registry;
  readonly retry: RetrySettings;
  readonly payloads: Payloads;
}

/** Counts since the start. */
interface RuntimeCounts {
  /** Commits that the store refused because another node held the lease. */
  readonly fenced: number;
  /** Milliseconds since all leases were last confirmed. */
  readonly leaseAgeMs: number;
  readonly effects: RunnerCounts;
}

type ClientParts = Omit<RuntimeParts, 'effects' | 'handlers' | 'node' | 'retention' | 'upkeep'>;

/**
 * The node that holds this partition's lease runs the sweep for the fleet: every fleet serves it, on one node at a
 * time.
 */
const SWEEPING: Partition = 'system:0';

/** Creates a client without a server, for processes that only call actors. */
export async function connectClient(parts: ClientParts): Promise<MailboxClient> {
  const kernel = await assemble(parts);
  return clientOf(parts, kernel, parts.placement ?? solePlacement(parts.store, '', ''), null, undefined);
}

/** Builds the kernel on its ports and starts serving. */
export async function startRuntime(parts: RuntimeParts): Promise<Runtime> {
  const runtime = await createRuntime(parts);
  await runtime.serve();
  return runtime;
}

/**
 * Builds the kernel without serving yet. A process that must load much first would keep its actors waiting otherwise.
 */
export async function createRuntime(parts: RuntimeParts): Promise<Runtime> {
  const { store, documents, effects, node, warn, meter = noMeter, tracing = noTracing } = parts;
  const kernel = await assemble(parts);
  const { settings, clock, random, payloads, archive } = kernel;
  const placement = parts.placement ?? solePlacement(store, node, random.uuid());
  const { cacheLimit, cacheBytes, passivateAfterMs } = settings;
  const cache = new ActorCache(clock, { actors: cacheLimit, bytes: cacheBytes, idleMs: passivateAfterMs });
  const counts = { fenced: 0 };
  const shared = { ...kernel, store, documents, warn };
  const replaced = new StateBlobGc({
    ...shared,
    isBusy: (address) => ownership.logs.some((log) => log.isPostponing(address)),
    keptMs: settings.replacedStatesKeptMs,
  });
  const views = await openViews(documents, kernel.registry);
  const lostActors = new LostActors({ ...shared, views });
  const guardedMs = settings.removalsGuardedMs;
  const forget = async (tenant: string, addresses: readonly Address[]) => parts.retention?.forget?.(tenant, addresses);
  const changes = await ChangeLog.open({ documents, clock, random, warn });
  const keyRuns = await KeyRuns.open({ documents, clock });
  const keys = settings.ledger ? keyRuns : null;
  const now = parts.retention?.now ?? (() => store.now());
  const removals = await Removals.open({
    ...shared,
    views,
    changes,
    guardedMs,
    forget,
    now,
    keys: keyRuns,
  });
  const kept = await KeptFrom.open(documents);
  const sweeps = (): boolean => ownership.get(SWEEPING) !== undefined;
  const merge =
    keys === null ? null : await KeyMerge.open({ documents, keys, kept, node, clock, random, warn, sweeps });
  const projector = await Projector.open({
    ...shared,
    views,
    removals,
    replaced,
    cache,
    node,
    keys,
    onKeys: () => merge?.wake(),
    changes,
    meter,
    serverOf: (partition) => ownership.get(partition),
  });
  const retention = await Retention.open({
    ...shared,
    removals,
    now,
    policy: parts.retention?.policy ?? retentionPolicy({}),
    intervalMs: parts.retention?.intervalMs ?? 0,
    isMine: sweeps,
    kept,
    neededOf: async (tenant, addresses) => (await parts.retention?.neededOf?.(tenant, addresses)) ?? new Set(),
    upkeep: parts.upkeep ?? [],
    onSwept: (swept) => parts.retention?.onSwept?.(swept),
  });
  const runner = new EffectRunner({
    store,
    queue: claimsWhenGivenBack(effects, (id) => starts.mayClaim(id)),
    unpack: async (body) => payloads.unpack(body),
    handlers: parts.handlers,
    node,
    incarnation: placement.incarnation,
    isGone: (holder) => placement.isGone(holder),
    hasEnded: (holder) => placement.hasEnded(holder),
    lastingClaimTtlMs: settings.commandClaimTtlMs,
    settleHere: async (partition, result) => (await ownership.get(partition)?.settle(result, partition)) ?? false,
    clock,
    random,
    concurrency: settings.effectConcurrency,
    onParked: parts.onParked ?? (() => {}),
    meter,
    sink: tracing.sink,
    encode: (message) => encodeMessage(payloads, message),
    onFault: (error, about) => warn(`effect ${about.effectId}: ${about.doing} failed`, error),
    probes: probesOf(parts, archive),
    onOutage: (name, change) =>
      warn(
        change === 'began'
          ? `effects wait: the store of ${name} does not answer`
          : `the store of ${name} answers again`,
        undefined,
      ),
  });
  const { name: runnerName, claimTtlMs } = runner;
  const starts = new LocalStarts({ queue: effects, runner: runnerName, claimTtlMs, store, clock, random, warn });
  const dispatcher = new Dispatcher({
    ...settings,
    ...shared,
    starts,
    takesResults: parts.contracted ?? (() => true),
    sharesLogs: () => settings.sharedLogs && (parts.contracted?.() ?? true),
    cache,
    views,
    lostActors,
    counts,
    sink: tracing.sink,
    node,
    placement,
    projector,
    replaced,
    effects,
    onQueues(names) {
      runner.serve(names).catch((thrown: unknown) => warn('the effect queues could not be served', toSvcError(thrown)));
    },
  });
  const { ownership } = dispatcher;
  const client = clientOf(parts, kernel, placement, ownership, cache);
  return {
    client,
    archive,
    ledger: keys === null ? null : await KeyedLedger.open({ documents, payloads, clock, keys, kept }),
    changes,
    removals,
    recorded: { registry: kernel.registry, retry: settings.retry, payloads },
    sweep: () => retention.sweep(),
    async serve() {
      await runner.start();
      await dispatcher.start();
      projector.start();
      if (parts.retention !== undefined) retention.start();
    },
    ready: () => ownership.leaseAgeMs <= settings.leaseTtlMs && dispatcher.unread.length === 0,
    unread: () => dispatcher.unread,
    postponed: () => ownership.logs.reduce((sum, { postponed }) => sum + postponed, 0),
    held: () => [...ownership.partitions],
    logs: () => ownership.logs.map(({ lease }) => lease.log),
    activations: () => cache.size,
    counts: () => ({ ...counts, leaseAgeMs: ownership.leaseAgeMs, effects: runner.counts }),
    dropPartition(partition) {
      const server = ownership.get(partition);
      if (server !== undefined) ownership.lose(server);
      return server !== undefined;
    },
    freeze(ms) {
      store.freeze(ms);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    },
    async dropActor(address) {
      const known = cache.get(address) !== undefined;
      cache.drop(address);
      return runner.cut(address) > 0 || known;
    },
    async stop() {
      await retention.stop();
      await lostActors.stop();
      // Effects that other nodes can take over are given back at once. Those that stay still commit their last results.
      const effectsEnded = runner
        .stop()
        .catch((thrown: unknown) =>
          warn(
            'an effect could not be stopped; its claim expires, then another node takes it over',
            toSvcError(thrown),
          ),
        );
      await dispatcher.stop(effectsEnded);
      await effectsEnded;
      await merge?.stop();
      starts.stop();
      await replaced.stop();
      client.close();
    },
  };
}

/** Wraps a queue so that each claim waits for the effect's earlier attempt to be given back. */
function claimsWhenGivenBack(
  effects: EffectQueue,
  mayClaim: (id: string) => Promise<void>,
): Pick<EffectQueue, 'work' | 'claim' | 'enqueue'> {
  return {
    enqueue: (job, delayMs) => effects.enqueue(job, delayMs),
    work: (queues, concurrency, run) => effects.work(queues, concurrency, run),
    async claim(job, ...claim) {
      await mayClaim(job.id);
      return effects.claim(job, ...claim);
    },
  };
}

/** One cheap call for each store. A rejection means that the store is unavailable. */
function probesOf({ store, blobs }: RuntimeParts, archive: Archive): NonNullable<EffectRunnerOptions['probes']> {
  const actors = () => store.now();
  const nothing = addressOf('nothing', SYSTEM_TENANT, 'nothing');
  const blobsAnswer = (error: unknown): void => {
    if (toSvcError(error).code !== 'not_found') throw error;
  };
  return {
    actors,
    queue: actors,
    documents: () => archive.loadRecord(nothing),
    blobs: () => blobs.get(SYSTEM_TENANT, '0'.repeat(64)).then(() => undefined, blobsAnswer),
  };
}

type Kernel = Awaited<ReturnType<typeof assemble>>;

async function assemble(parts: ClientParts) {
  const overlapMs = parts.store.isInProcess === true ? Number.POSITIVE_INFINITY : runtimeDefaults.overlapMs;
  const settings: RuntimeSettings = { ...runtimeDefaults, overlapMs, ...parts.settings };
  const clock = parts.clock ?? systemClock;
  const random = parts.random ?? systemRandom;
  const { store } = parts;
  const registry = new Registry(parts.definitions, [
    { pool: 'default', partitions: await store.definePool('default', settings.partitions) },
    { pool: 'system', partitions: await store.definePool('system', settings.systemPartitions) },
  ]);
  const locator = new Locator(registry, store);
  const payloads = createPayloads(parts.blobs);
  const archive = await Archive.open(parts.documents);
  return { settings, clock, random, registry, locator, payloads, archive };
}

function clientOf(
  parts: ClientParts,
  kernel: Kernel,
  placement: Placement,
  here: ServedHere | null,
  cache: ActorCache | undefined,
): MailboxClient {
  const { store } = parts;
  const { settings, registry, locator } = kernel;
  const { tagPoolPartitions, mailboxBound } = settings;
  const placing = { store, registry, locator, tagPoolPartitions, placement, here };
  const { samples } = parts.tracing ?? noTracing;
  const inMemory = cache === undefined ? undefined : (address: Address) => cache.peek(address);
  return new MailboxClient({ ...kernel, store, placing, mailboxBound, samples, inMemory });
}

import type { ActorStore } from './actor-store.ts';
import type { Blobs } from './blobs.ts';
import { MailboxClient } from './calls/mailbox-client.ts';
import { type Clock, systemClock } from './clock.ts';
import type { ActorDefinition } from './define-actor.ts';
import { Dispatcher } from './dispatch/dispatcher.ts';
import type { Documents } from './documents.ts';
import type { EffectHandler } from './effect.ts';
import type { EffectQueue } from './effect-queue.ts';
import { EffectRunner } from './effects/effect-runner.ts';
import { Archive } from './projection/archive.ts';
import { Projector } from './projection/projector.ts';
import { type Random, systemRandom } from './random.ts';
import { Registry } from './registry.ts';
import { ActorCache } from './turns/actor-cache.ts';
import { encodeMessage } from './turns/codec.ts';
import type { RetrySettings } from './turns/kernel-messages.ts';
import { createPayloads } from './turns/payload.ts';

export interface RuntimeSettings {
  /** Partitions of pool `default`; fixed at the store's first start (design K2). */
  readonly partitions: number;
  /** Partitions of pool `system`. */
  readonly systemPartitions: number;
  readonly leaseTtlMs: number;
  readonly leaseRenewMs: number;
  readonly pollMs: number;
  readonly batchLimit: number;
  readonly mailboxBound: number;
  readonly cacheLimit: number;
  readonly passivateAfterMs: number;
  readonly effectConcurrency: number;
  readonly ledger: boolean;
  readonly retry: RetrySettings;
}

export const runtimeDefaults: RuntimeSettings = {
  partitions: 64,
  systemPartitions: 8,
  leaseTtlMs: 6_000,
  leaseRenewMs: 2_000,
  pollMs: 1_000,
  batchLimit: 256,
  mailboxBound: 1_024,
  cacheLimit: 10_000,
  passivateAfterMs: 60_000,
  effectConcurrency: 32,
  ledger: true,
  retry: { maxAttempts: 5, initialDelayMs: 100, maxDelayMs: 10_000 },
};

export interface RuntimeParts {
  /** Ports, opened by the caller and closed by the caller after `stop`. */
  readonly store: ActorStore;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly effects: EffectQueue;
  readonly definitions: readonly ActorDefinition[];
  readonly handlers: readonly EffectHandler[];
  /** Node id: survives restarts, one live process each. */
  readonly node: string;
  readonly settings?: Partial<RuntimeSettings>;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly warn: (message: string, error: unknown) => void;
}

export interface Runtime {
  readonly client: MailboxClient;
  readonly archive: Archive;
  /** True while the node holds leases it renewed within their TTL. */
  ready(): boolean;
  /** Partitions served now. */
  held(): number;
  /** Actors in memory now. */
  residents(): number;
  /** Ends effects, lets batches commit, gives leases back. */
  stop(): Promise<void>;
}

/** A client without a server: for processes that only call actors. */
export async function connectClient(
  parts: Omit<RuntimeParts, 'effects' | 'handlers' | 'node'>,
): Promise<MailboxClient> {
  const { client } = await assemble(parts);
  return client;
}

/** Puts the kernel together on its ports and begins to serve (design, Kernel). */
export async function startRuntime(parts: RuntimeParts): Promise<Runtime> {
  const { store, documents, effects, node, warn } = parts;
  const { settings, clock, random, registry, payloads, archive, client } = await assemble(parts);
  const cache = new ActorCache(clock, settings.cacheLimit, settings.passivateAfterMs);
  const shared = { store, registry, payloads, archive, clock, warn };
  const projector = await Projector.open({ ...shared, documents, ledger: settings.ledger });
  const dispatcher = new Dispatcher({ ...settings, ...shared, cache, node, random, projector, effects });
  const runner = new EffectRunner({
    store,
    queue: {
      work: (queues, concurrency, run) => effects.work(queues, concurrency, run),
      async claim(job, runner, ttlMs) {
        const outcome = await effects.claim(job, runner, ttlMs);
        return 'body' in outcome ? { ...outcome, body: await payloads.unpack(outcome.body) } : outcome;
      },
    },
    handlers: parts.handlers,
    queues: ['default'],
    node,
    incarnation: random.uuid(),
    clock,
    random,
    concurrency: settings.effectConcurrency,
    encode: (message) => encodeMessage(payloads, message),
    onFault: (error, about) => warn(`effect ${about.effectId}: ${about.doing} failed`, error),
  });
  await runner.start();
  await dispatcher.start();
  projector.start();
  return {
    client,
    archive,
    ready: () => dispatcher.held > 0 && dispatcher.leaseAgeMs <= settings.leaseTtlMs,
    held: () => dispatcher.held,
    residents: () => cache.size,
    async stop() {
      // Effects first: their last results still find a dispatcher that commits them.
      await runner.stop();
      await dispatcher.stop();
      client.close();
    },
  };
}

async function assemble(parts: Omit<RuntimeParts, 'effects' | 'handlers' | 'node'>) {
  const settings: RuntimeSettings = { ...runtimeDefaults, ...parts.settings };
  const clock = parts.clock ?? systemClock;
  const random = parts.random ?? systemRandom;
  const { store } = parts;
  const registry = new Registry(parts.definitions, [
    { pool: 'default', partitions: await store.definePool('default', settings.partitions) },
    { pool: 'system', partitions: await store.definePool('system', settings.systemPartitions) },
  ]);
  const payloads = createPayloads(parts.blobs);
  const archive = await Archive.open(parts.documents);
  const { mailboxBound } = settings;
  const client = new MailboxClient({ store, registry, payloads, archive, clock, random, mailboxBound });
  return { settings, clock, random, registry, payloads, archive, client };
}

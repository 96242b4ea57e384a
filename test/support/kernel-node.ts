import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ActorStore } from '../../runtime/actor-store.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { ActorDefinition } from '../../runtime/define-actor.ts';
import type { EffectHandler } from '../../runtime/effect.ts';
import type { EffectQueue } from '../../runtime/effect-queue.ts';
import { EmbeddedEffectQueue } from '../../runtime/effects/embedded-effect-queue.ts';
import type { Placement } from '../../runtime/locator.ts';
import { type Runtime, type RuntimeParts, startRuntime } from '../../runtime/runtime.ts';
import { SqliteActorStore } from '../../runtime/sqlite/actor-store.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { FaultyStore } from './faulty-store.ts';

export interface KernelNodeOptions {
  readonly definitions: readonly ActorDefinition[];
  readonly handlers?: readonly EffectHandler[];
  readonly settings?: RuntimeParts['settings'];
  readonly placement?: Placement;
  readonly contracted?: () => boolean;
  /** Of the store, the queue and the kernel. */
  readonly clock?: Clock;
  /** Replaces methods of the kernel's effect queue. */
  readonly effects?: (inner: EffectQueue) => Partial<EffectQueue>;
  /** Replaces methods of the kernel's store. */
  readonly store?: (inner: ActorStore) => Partial<ActorStore>;
  readonly documents?: (inner: RuntimeParts['documents']) => RuntimeParts['documents'];
  readonly blobs?: (inner: RuntimeParts['blobs']) => RuntimeParts['blobs'];
  readonly meter?: RuntimeParts['meter'];
}

/** A kernel on a private SQLite directory; a test may replace methods of its store. */
export interface KernelNode {
  readonly runtime: Runtime;
  readonly store: ActorStore;
  readonly documents: RuntimeParts['documents'];
  readonly blobs: RuntimeParts['blobs'];
  readonly warnings: readonly string[];
  stop(): Promise<void>;
}

export async function startKernelNode(options: KernelNodeOptions): Promise<KernelNode> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-kernel-node-'));
  const { clock = systemClock } = options;
  const inner = new SqliteActorStore({ directory, clock });
  const documents = new SqliteDocuments({ directory });
  const blobs = new FileBlobs({ directory });
  await Promise.all([inner.open(), documents.open(), blobs.open()]);
  const store = Object.assign(new FaultyStore(inner, { seed: 1 }), options.store?.(inner) ?? {});
  const warnings: string[] = [];
  const warn = (message: string, error: unknown): void => {
    warnings.push(`${message}: ${String(error)}`);
  };
  const effects = new EmbeddedEffectQueue({
    ledger: store,
    clock,
    onFault: (error) => warn('job', error),
  });
  Object.assign(effects, options.effects?.(effects) ?? {});
  await effects.open();
  const runtime = await startRuntime({
    store,
    documents: options.documents?.(documents) ?? documents,
    blobs: options.blobs?.(blobs) ?? blobs,
    effects,
    definitions: options.definitions,
    handlers: options.handlers ?? [],
    ...(options.meter === undefined ? {} : { meter: options.meter }),
    clock,
    node: 'node-a',
    ...(options.placement === undefined ? {} : { placement: options.placement }),
    ...(options.contracted === undefined ? {} : { contracted: options.contracted }),
    settings: {
      partitions: 1,
      systemPartitions: 1,
      pollMs: 50,
      leaseRenewMs: 50,
      leaseTtlMs: 5_000,
      retry: { maxAttempts: 3, initialDelayMs: 5, maxDelayMs: 20 },
      ...options.settings,
    },
    warn,
  });
  return {
    runtime,
    store: inner,
    documents,
    blobs,
    warnings,
    async stop() {
      await runtime.stop();
      await effects.close();
      await inner.close();
      await documents.close();
      await blobs.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

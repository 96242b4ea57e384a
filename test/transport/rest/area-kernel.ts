import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ActorDefinition } from '../../../runtime/define-actor.ts';
import type { Documents } from '../../../runtime/documents.ts';
import type { EffectHandler } from '../../../runtime/effect.ts';
import { BullmqEffectQueue } from '../../../runtime/redis/bullmq-effect-queue.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { type Runtime, startRuntime } from '../../../runtime/runtime.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { startKernelNode } from '../../support/kernel-node.ts';
import { redisMissing, startRedis } from '../../support/redis.ts';

/** A kernel that serves the kinds of one area, on stores of its own. */
export interface AreaKernel {
  readonly runtime: Runtime;
  readonly documents: Documents;
  stop(): Promise<void>;
}

export interface AreaParts {
  readonly definitions: readonly ActorDefinition[];
  readonly handlers?: readonly EffectHandler[];
}

async function onRedis({ definitions, handlers = [] }: AreaParts): Promise<AreaKernel> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-area-'));
  const redis = await startRedis({ appendfsync: 'always' });
  const urls = [redis.url];
  const warn = (): void => {};
  const store = new RedisActorStore({ urls, warn });
  const documents = new SqliteDocuments({ directory });
  const blobs = new FileBlobs({ directory });
  const effects = new BullmqEffectQueue({ urls, ledger: store, onFault: warn });
  const ports = [store, documents, blobs, effects];
  for (const port of ports) await port.open();
  const settings = { partitions: 4, systemPartitions: 4 };
  const parts = { store, documents, blobs, effects, definitions, handlers, settings, node: 'node-a', warn };
  const runtime = await startRuntime(parts);
  return {
    runtime,
    documents,
    async stop() {
      await runtime.stop();
      for (const port of ports.toReversed()) await port.close();
      await redis.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The stores on which tests run. */
export const AREA_KERNELS: readonly {
  readonly name: string;
  readonly missing: string | null;
  start(parts: AreaParts): Promise<AreaKernel>;
}[] = [
  { name: 'embedded', missing: null, start: (parts) => startKernelNode(parts) },
  { name: 'Redis', missing: redisMissing(), start: onRedis },
];

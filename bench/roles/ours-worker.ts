import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinFleet } from '../../cluster/cluster-node.ts';
import { systemClock } from '../../runtime/clock.ts';
import { EmbeddedEffectQueue } from '../../runtime/effects/embedded-effect-queue.ts';
import { systemRandom } from '../../runtime/random.ts';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { startRuntime } from '../../runtime/runtime.ts';
import { runtimeDefaults } from '../../runtime/runtime-settings.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { FORMAT } from '../../runtime/store-formats.ts';
import { counter } from '../counter.ts';
import { serveProfiled } from '../profile.ts';
import { roleOptions } from '../role.ts';

/** Serves counters from Redis. Documents are SQLite here, so that the figures are those of the kernel and Redis. */
const { url, ledger, partitions, node } = roleOptions<{
  url: string;
  ledger: boolean;
  partitions: number;
  /** One of several that share the partitions; absent: it serves all of them. */
  node?: string;
}>();
const directory = await mkdtemp(join(tmpdir(), 'svc-bench-'));
const store = new RedisActorStore({ urls: url });
const documents = new SqliteDocuments({ directory });
const blobs = new FileBlobs({ directory });
await Promise.all([store.open(), documents.open(), blobs.open()]);
const effects = new EmbeddedEffectQueue({ ledger: store, clock: systemClock, onFault: console.error });
await effects.open();
const warn = (message: string, error: unknown): void => console.error(message, error);
const seat =
  node === undefined
    ? null
    : await joinFleet({
        members: store,
        node,
        info: { role: 'hybrid', tags: [], weight: 1, version: 'bench', format: FORMAT },
        leaseTtlMs: runtimeDefaults.leaseTtlMs,
        livenessHost: null,
        advertiseHost: undefined,
        clock: systemClock,
        random: systemRandom,
        warn,
      });
const runtime = await startRuntime({
  store,
  documents,
  blobs,
  effects,
  definitions: [counter],
  handlers: [],
  node: node ?? 'bench-worker',
  ...(seat === null ? {} : { placement: seat.placement }),
  settings: { partitions, ledger },
  warn,
});

await serveProfiled(
  async () => ({ rss: process.memoryUsage().rss, held: runtime.held().length }),
  async () => {
    await runtime.stop();
    await seat?.close();
    await Promise.all([effects.close(), store.close(), documents.close(), blobs.close()]);
    await rm(directory, { recursive: true, force: true });
  },
);

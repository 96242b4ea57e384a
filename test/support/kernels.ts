import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FleetPlacement } from '../../cluster/placement/fleet-placement.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { ActorDefinition } from '../../runtime/define-actor.ts';
import type { EffectHandler } from '../../runtime/effect.ts';
import { type OpenStores, openStores } from '../../runtime/open-stores.ts';
import { systemRandom } from '../../runtime/random.ts';
import { type Runtime, type RuntimeParts, startRuntime } from '../../runtime/runtime.ts';
import type { MemberInfo } from '../../usecases/ports/cluster.ts';
import { startMongo } from './ferretdb.ts';
import { type RedisServer, type RedisServerOptions, startRedis } from './redis.ts';

/** Parts of one kernel that may differ from those of the others, as between versions. */
export interface KernelParts {
  readonly definitions: readonly ActorDefinition[];
  readonly handlers?: readonly EffectHandler[];
  readonly info?: Partial<MemberInfo>;
  /** Replaces ports of the kernel. */
  readonly bend?: (stores: OpenStores) => Partial<OpenStores>;
  /** With 1 every effect goes through a job: no slot is reserved for effects that the node itself requested. */
  readonly effectConcurrency?: number;
  readonly settings?: RuntimeParts['settings'];
}

export interface Kernel {
  readonly name: string;
  readonly runtime: Runtime;
  readonly placement: FleetPlacement;
  readonly stores: OpenStores;
  readonly warnings: readonly string[];
  stop(): Promise<void>;
}

export interface Kernels extends AsyncDisposable {
  readonly redis: RedisServer;
  start(name: string, parts: KernelParts): Promise<Kernel>;
}

export const PARTITIONS = 8;

const MEMBER: Omit<MemberInfo, 'draining'> = {
  role: 'hybrid',
  tags: [],
  weight: 1,
  version: 'test',
  startedAt: 0,
  pulse: null,
  clusterAddress: null,
  restUrl: null,
};

/** Kernels with definitions of their own over one real Redis and one MongoDB-wire server, in this process. */
export async function openKernels(redisOptions: RedisServerOptions = { appendfsync: 'always' }): Promise<Kernels> {
  const [redis, mongo] = await Promise.all([startRedis(redisOptions), startMongo()]);
  const directory = await mkdtemp(join(tmpdir(), 'svc-kernels-'));
  const running = new Set<Kernel>();
  return {
    redis,
    async start(
      name,
      { definitions, handlers = [], info = {}, bend = () => ({}), effectConcurrency = 32, settings = {} },
    ) {
      const warnings: string[] = [];
      const warn = (message: string, error: unknown): void => {
        warnings.push(`${message} ${error instanceof Error ? error.message : ''}`);
      };
      const dataDir = await mkdtemp(join(directory, `${name}-`));
      const stores = await openStores({ dataDir, redis: [redis.url], mongodb: mongo.uri, warn });
      const ports = { ...stores, ...bend(stores) };
      const { leaseTtlMs = 6_000, leaseRenewMs = 1_000 } = settings;
      const placement = new FleetPlacement({
        members: ports.store,
        node: name,
        info: { ...MEMBER, ...info },
        leaseTtlMs,
        clock: systemClock,
        random: systemRandom,
        warn,
      });
      const runtime = await startRuntime({
        ...ports,
        definitions,
        handlers,
        node: name,
        placement,
        settings: {
          partitions: PARTITIONS,
          systemPartitions: 2,
          effectConcurrency,
          ...settings,
          leaseTtlMs,
          leaseRenewMs,
        },
        warn,
      });
      const kernel: Kernel = {
        name,
        runtime,
        placement,
        stores,
        warnings,
        async stop() {
          if (!running.delete(kernel)) return;
          await runtime.stop();
          await stores.close();
        },
      };
      running.add(kernel);
      return kernel;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...running].map((kernel) => kernel.stop()));
      await Promise.all([redis.stop(), mongo.stop()]);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

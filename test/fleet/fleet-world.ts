import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createExecutionApi,
  EXECUTIONS,
  type ExecutionApi,
  type ExecutionDocument,
} from '../../actors/execution/api.ts';
import { execution } from '../../actors/execution/definition.ts';
import type { MemberInfo } from '../../cluster/placement/fleet.ts';
import { FleetPlacement } from '../../cluster/placement/fleet-placement.ts';
import { createModelEffect } from '../../effects/models/model-effect.ts';
import { systemClock } from '../../runtime/clock.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import type { EffectHandler } from '../../runtime/effect.ts';
import { type OpenStores, openStores } from '../../runtime/open-stores.ts';
import { systemRandom } from '../../runtime/random.ts';
import { type Runtime, startRuntime } from '../../runtime/runtime.ts';
import { counter, job } from '../support/actors.ts';
import { startMongo } from '../support/ferretdb.ts';
import { startRedis } from '../support/redis.ts';
import { scriptedSettings } from '../support/scripted-settings.ts';

/** The counter of the kernel's tests, in a kind that may live away from home. */
export const traveller = defineActor({ ...counter, kind: 'traveller', placed: true });

/** One node of the fleet, in this process: its kernel, its seat, and what a transport would call. */
export interface FleetNode {
  readonly name: string;
  readonly runtime: Runtime;
  readonly placement: FleetPlacement;
  readonly stores: OpenStores;
  readonly executions: ExecutionApi;
  readonly warnings: readonly string[];
  stop(): Promise<void>;
}

export interface FleetWorld extends AsyncDisposable {
  node(name: string, info?: Partial<MemberInfo>, effects?: readonly EffectHandler[]): Promise<FleetNode>;
}

/** Several kernels over one real Redis and one MongoDB-wire server. */
export async function openFleetWorld(): Promise<FleetWorld> {
  const [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
  const directory = await mkdtemp(join(tmpdir(), 'svc-fleet-'));
  const nodes = new Set<FleetNode>();
  const settings = scriptedSettings(new URL('./script.yaml', import.meta.url));
  return {
    async node(name, info = {}, effects = []) {
      const warnings: string[] = [];
      const warn = (message: string, error: unknown): void => {
        warnings.push(`${message} ${error instanceof Error ? error.message : ''}`);
      };
      const dataDir = await mkdtemp(join(directory, `${name}-`));
      const stores = await openStores({ dataDir, redis: [redis.url], mongodb: mongo.uri, warn });
      const placement = new FleetPlacement({
        members: stores.store,
        node: name,
        info: { ...CARD, ...info },
        leaseTtlMs: 6_000,
        clock: systemClock,
        random: systemRandom,
        warn,
      });
      const runtime = await startRuntime({
        ...stores,
        definitions: [traveller, counter, job, execution],
        handlers: [
          createModelEffect({
            providers: settings.llm_providers,
            selection: settings.llm_selection,
            secrets: { resolve: async (_tenant, reference) => reference },
          }),
          ...effects,
        ],
        node: name,
        placement,
        settings: { partitions: 32, systemPartitions: 4, tagPoolPartitions: 4 },
        warn,
      });
      const executions = createExecutionApi({
        client: runtime.client,
        executions: await stores.documents.collection<ExecutionDocument>(EXECUTIONS),
        removals: runtime.removals,
        node: () => ({ isolation: 'process' }),
      });
      const node: FleetNode = {
        ...{ name, runtime, placement, stores, executions, warnings },
        async stop() {
          if (!nodes.delete(node)) return;
          await runtime.stop();
          await stores.close();
        },
      };
      nodes.add(node);
      return node;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...nodes].map((node) => node.stop()));
      await Promise.all([redis.stop(), mongo.stop(), rm(directory, { recursive: true, force: true })]);
    },
  };
}

const CARD: Omit<MemberInfo, 'draining'> = {
  role: 'hybrid',
  tags: [],
  weight: 1,
  version: 'test',
  startedAt: 0,
  pulse: null,
  clusterAddress: null,
  restUrl: null,
};

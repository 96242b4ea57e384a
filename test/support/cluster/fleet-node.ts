/**
 * A node of a test cluster in a process of its own: the product's kernel on Redis and MongoDB with the actors of a
 * workload. Argument: `FleetNodeOptions` as JSON. SIGTERM ends it in order.
 */

import { FleetPlacement } from '../../../cluster/placement/fleet-placement.ts';
import { hostPort } from '../../../cluster/pulse/advertise.ts';
import { startPulseServer } from '../../../cluster/pulse/pulse-server.ts';
import { startPulseWatch } from '../../../cluster/pulse/pulse-watch.ts';
import { resolveSettings } from '../../../manifests/node/settings.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { openStores } from '../../../runtime/open-stores.ts';
import { systemRandom } from '../../../runtime/random.ts';
import { runtimeDefaults, startRuntime } from '../../../runtime/runtime.ts';
import { startControlServer } from './control-server.ts';
import { type FleetNodeOptions, type LocalFigures, readOptions } from './fleet-options.ts';
import { observeStore } from './observed-store.ts';
import { loadWorkload } from './workload.ts';

const options = readOptions<FleetNodeOptions>();
const seen = observeStore(options.ambiguity, options.seed);
const workload = await loadWorkload(options.workload);
const resolved = resolveSettings({ flags: {}, env: {}, file: JSON.stringify(options.config) });
if (!resolved.ok) throw new Error(JSON.stringify(resolved.problems));
const { kernel, stores, node: self, cluster } = resolved.settings;
const warn = (message: string, error: unknown): void => console.error(message, error ?? '');
const ports = await openStores({
  dataDir: stores.data_dir,
  ...(stores.redis === undefined ? {} : { redis: stores.redis }),
  ...(stores.mongodb === undefined ? {} : { mongodb: stores.mongodb }),
  warn,
});
const placement = new FleetPlacement({
  members: ports.store,
  node: options.node,
  card: {
    role: cluster.role,
    tags: self.tags,
    weight: self.weight,
    version: 'test',
    startedAt: Date.now(),
    pulse: null,
    clusterAddress: null,
    restUrl: null,
  },
  leaseTtlMs: kernel.lease_ttl_ms,
  clock: systemClock,
  random: systemRandom,
  warn,
});
await watchPeers();
const runtime = await startRuntime({
  ...ports,
  definitions: workload.actors,
  handlers: workload.effects,
  node: options.node,
  placement,
  settings: {
    partitions: kernel.partitions,
    leaseTtlMs: kernel.lease_ttl_ms,
    leaseRenewMs: kernel.lease_renew_ms,
    mailboxBound: kernel.mailbox_bound,
    passivateAfterMs: kernel.passivate_after_ms,
    retry: { ...runtimeDefaults.retry, maxAttempts: kernel.max_turn_attempts },
  },
  warn,
});

const control = await startControlServer({
  'GET /local': async (): Promise<LocalFigures> => {
    const { loads: _, spans, ...store } = seen();
    return {
      node: options.node,
      now: Date.now(),
      ready: runtime.ready(),
      held: [...runtime.held()],
      residents: runtime.residents(),
      ...store,
      spans: [...spans],
    };
  },
  'GET /loads': async () => seen().loads,
});
console.log(JSON.stringify({ control, rest: null }));

/** Connections that show the death of a process at once, as the product has them. */
async function watchPeers(): Promise<void> {
  if (!options.watched) return;
  const { incarnation } = placement;
  const server = await startPulseServer({ host: '127.0.0.1', node: options.node, incarnation, warn });
  await placement.changeCard({ pulse: hostPort(server.host, server.port) });
  const watch = startPulseWatch({
    node: options.node,
    clock: systemClock,
    random: systemRandom,
    onDead: (node, incarnation) => {
      placement.declareDead(node, incarnation).catch((error: unknown) => warn(`${node} died`, error));
    },
  });
  placement.onMembers((members) => watch.watch(members));
}

process.on('SIGTERM', () => {
  runtime
    .stop()
    .then(() => ports.close())
    .then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
});

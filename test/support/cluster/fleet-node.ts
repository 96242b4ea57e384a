/**
 * A node of a test cluster in a process of its own: the product's kernel on Redis and MongoDB with the actors of a
 * workload. Argument: `FleetNodeOptions` as JSON. SIGTERM ends it in order.
 */
import { resolveSettings } from '../../../manifests/node/settings.ts';
import { openStores } from '../../../runtime/open-stores.ts';
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
const { kernel, stores } = resolved.settings;
const warn = (message: string, error: unknown): void => console.error(message, error ?? '');
const ports = await openStores({
  dataDir: stores.data_dir,
  ...(stores.redis === undefined ? {} : { redis: stores.redis }),
  ...(stores.mongodb === undefined ? {} : { mongodb: stores.mongodb }),
  warn,
});
const runtime = await startRuntime({
  ...ports,
  definitions: workload.actors,
  handlers: workload.effects,
  node: options.node,
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
    const { loads: _, ...store } = seen();
    return {
      node: options.node,
      now: Date.now(),
      ready: runtime.ready(),
      held: [...runtime.held()],
      residents: runtime.residents(),
      ...store,
    };
  },
  'GET /loads': async () => seen().loads,
});
console.log(JSON.stringify({ control, rest: null }));

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

/**
 * A node of a test cluster in a process of its own: the whole product, with the actors and effects of a workload beside
 * its own. Argument: `FleetNodeOptions` as JSON. SIGTERM ends it in order.
 */
import { startNode } from '../../../main.ts';
import { startControlServer } from './control-server.ts';
import { type FleetNodeOptions, type LocalFigures, readOptions } from './fleet-options.ts';
import { observeStore } from './observed-store.ts';
import { loadWorkload } from './workload.ts';

const options = readOptions<FleetNodeOptions>();
const seen = observeStore(options.ambiguity, options.seed);
const workload = await loadWorkload(options.workload);
const node = await startNode({ flags: { config: options.configFile }, env: {}, ...workload });

const control = await startControlServer({
  'GET /local': async (): Promise<LocalFigures> => {
    const { loads: _, spans, ...store } = seen();
    return { node: node.id, now: Date.now(), ...store, spans: [...spans] };
  },
  'GET /loads': async () => seen().loads,
});
console.log(JSON.stringify({ control, rest: node.restUrl }));

node.stopped.then(() => process.exit(0), console.error);
process.on('SIGTERM', () => {
  node.stop().catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});

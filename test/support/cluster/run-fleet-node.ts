import { startNode } from '../../../main.ts';
import { startControlServer } from './control-server.ts';
import type { FleetNodeOptions, LocalFigures } from './fleet-options.ts';
import { observeStore } from './observed-store.ts';
import type { Workload } from './workload.ts';

/** Runs a node of a test cluster in this process until SIGTERM: the whole product, with the actors and effects of a workload beside its own. */
export async function runFleetNode(options: FleetNodeOptions, workload: Workload): Promise<void> {
  const seen = observeStore(options.ambiguity, options.seed);
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
}

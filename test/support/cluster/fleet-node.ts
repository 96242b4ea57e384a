/** A node of a test cluster in a process of its own. Argument: `FleetNodeOptions` as JSON. SIGTERM ends it in order. */
import { type FleetNodeOptions, readOptions } from './fleet-options.ts';
import { runFleetNode } from './run-fleet-node.ts';
import { loadWorkload } from './workload.ts';

const options = readOptions<FleetNodeOptions>();
await runFleetNode(options, await loadWorkload(options.workload));

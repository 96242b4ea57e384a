/** A node of a chaos run as one script, with the code that V8 keeps of it: the package starts nodes so (decision 0070). */
import { type FleetNodeOptions, readOptions } from '../support/cluster/fleet-options.ts';
import { runFleetNode } from '../support/cluster/run-fleet-node.ts';
import { actors, effects } from './workload.ts';

export const runNode = (): Promise<void> => runFleetNode(readOptions<FleetNodeOptions>(), { actors, effects });

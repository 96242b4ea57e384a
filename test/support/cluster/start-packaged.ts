/**
 * Starts a node of a test cluster as `svc start` of the npm package does: from one script (`packaged-node.ts`). Argument:
 * `FleetNodeOptions` as JSON, with the path of the script.
 */
import { keptScript } from '../../../cli/start/kept-script.ts';
import { onceStarted } from '../../../cli/start/once-started.ts';
import type { runNode } from '../../chaos/packaged-node.ts';
import { type FleetNodeOptions, readOptions } from './fleet-options.ts';

const { script } = readOptions<FleetNodeOptions>();
const program = script === undefined ? null : keptScript(script, (specifier) => import.meta.resolve(specifier));
if (program === null) throw new Error(`${script} is not the script of a node`);
const loaded: { readonly runNode?: typeof runNode } = program.exports;
if (loaded.runNode === undefined) throw new Error(`${script} has no runNode`);
await loaded.runNode();
onceStarted(program);

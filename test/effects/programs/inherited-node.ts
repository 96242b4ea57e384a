import { ProgramLimits } from '../../../effects/programs/input.ts';
import { launch } from '../../../effects/programs/launch.ts';

/** A node in a separate process with inherited descriptors: prints the output of its program. DIRECTORY PROGRAM. */
const [, , directory, program] = process.argv;
if (directory === undefined || program === undefined) throw new Error('usage: inherited-node.ts DIRECTORY PROGRAM');
const limits = ProgramLimits.parse({ timeout_ms: 10_000 });
const launched = await launch({ program, args: [], directory, environment: { PATH: '/usr/bin:/bin' }, limits });
launched.stdout.pipe(process.stdout);
launched.child.once('exit', () => launched.release());

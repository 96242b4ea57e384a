import { ProgramInput } from '../../effects/programs/input.ts';
import { createProgramEffect } from '../../effects/programs/program-effect.ts';
import { effectContext } from './effect-context.ts';

/** A node in a process of its own, to be killed while `argv[3]` runs; `argv[2]` is the workspaces' directory. */
const [, , workspaces, path] = process.argv;
if (workspaces === undefined || path === undefined) throw new Error('usage: program-node.ts WORKSPACES PROGRAM');
const effect = createProgramEffect({ workspaces, allow: () => true, secrets: { resolve: async () => '' } });
const limits = { timeout_ms: 600_000 };
await effect.run(
  ProgramInput.parse({ path, args: [], env: {}, execution_id: 'e1', limits }),
  effectContext({ effectId: 'f1', progress: async (value) => process.send?.(value) ?? true }),
);

import { ProgramInput } from '../../effects/programs/input.ts';
import { createProgramEffect } from '../../effects/programs/program-effect.ts';

/** A node in a process of its own, to be killed while `argv[3]` runs; `argv[2]` is the workspaces' directory. */
const [, , workspaces, path] = process.argv;
if (workspaces === undefined || path === undefined) throw new Error('usage: program-node.ts WORKSPACES PROGRAM');
const effect = createProgramEffect({ workspaces, allow: () => true, secrets: { resolve: async () => '' } });
const limits = { timeout_ms: 600_000 };
await effect.run(ProgramInput.parse({ path, args: [], env: {}, execution_id: 'e1', limits }), {
  effectId: 'f1',
  attempt: 1,
  tenant: 'acme',
  address: 'execution/acme/e1',
  trace: 'f'.repeat(32),
  signal: new AbortController().signal,
  progress: async (value) => process.send?.(value) ?? true,
  parked: (waiting) => waiting,
  patiently: (call) => call(),
});

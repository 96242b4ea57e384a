import type { Command } from 'commander';
import { key } from './access/key.ts';
import { login, whoami } from './access/login.ts';
import { agent } from './agent.ts';
import { apply, diff } from './apply.ts';
import { approval } from './approval.ts';
import { audit } from './audit.ts';
import { chaos } from './chaos.ts';
import { completion } from './completion.ts';
import { execute } from './execute.ts';
import { cluster } from './fleet/cluster.ts';
import { node } from './fleet/node.ts';
import { provider } from './fleet/provider.ts';
import { limits } from './limits.ts';
import { pattern } from './pattern.ts';
import { run } from './run.ts';
import { runs } from './runs.ts';
import { secret } from './secret.ts';
import { session } from './session.ts';
import { start } from './start.ts';
import { stimulus } from './stimulus.ts';
import { system, version } from './system.ts';
import { task } from './task.ts';
import { tools } from './tools.ts';
import { actor } from './traces/actor.ts';
import { deadLetter } from './traces/dead-letter.ts';
import { fork } from './traces/fork.ts';
import { message } from './traces/message.ts';
import { open } from './traces/open.ts';
import { tap } from './traces/tap.ts';
import { exportRun, replay } from './traces/time-machine.ts';
import { trace } from './traces/trace.ts';
import { why } from './traces/why.ts';
import { volume } from './volume.ts';
import { workflow } from './workflow.ts';

/** All commands, in the order of the help text. */
export const COMMANDS: readonly ((program: Command) => void)[] = [
  ...[start, run, apply, diff, agent, task, workflow, runs, execute, why, approval, stimulus, node, cluster],
  ...[provider, volume, session, pattern, key],
  ...[limits, secret, whoami, audit, trace, message, tap, actor, deadLetter, chaos, tools, system, completion, version],
  ...[replay, exportRun, open, fork, login],
];

import { Command, CommanderError } from 'commander';
import { key } from './commands/access/key.ts';
import { login } from './commands/access/login.ts';
import { whoami } from './commands/access/whoami.ts';
import { agent } from './commands/agent.ts';
import { apply, diff } from './commands/apply.ts';
import { approval } from './commands/approval.ts';
import { audit } from './commands/audit.ts';
import { chaos } from './commands/chaos.ts';
import { completion } from './commands/completion.ts';
import { execute } from './commands/execute.ts';
import { cluster } from './commands/fleet/cluster.ts';
import { node } from './commands/fleet/node.ts';
import { provider } from './commands/fleet/provider.ts';
import { limits } from './commands/limits.ts';
import { pattern } from './commands/pattern.ts';
import { run } from './commands/run.ts';
import { runs } from './commands/runs.ts';
import { secret } from './commands/secret.ts';
import { session } from './commands/session.ts';
import { start } from './commands/start.ts';
import { stimulus } from './commands/stimulus.ts';
import { system, version } from './commands/system.ts';
import { task } from './commands/task.ts';
import { tools } from './commands/tools.ts';
import { actor } from './commands/traces/actor.ts';
import { deadLetter } from './commands/traces/dead-letter.ts';
import { fork } from './commands/traces/fork.ts';
import { message } from './commands/traces/message.ts';
import { open } from './commands/traces/open.ts';
import { tap } from './commands/traces/tap.ts';
import { exportRun, replay } from './commands/traces/time-machine.ts';
import { trace } from './commands/traces/trace.ts';
import { why } from './commands/traces/why.ts';
import { volume } from './commands/volume.ts';
import { workflow } from './commands/workflow.ts';
import { CliFailure, EXIT, type ExitCode } from './failure.ts';
import { paintFor, printable } from './paint.ts';

/** In the order of the help text. */
const COMMANDS: readonly ((program: Command) => void)[] = [
  ...[start, run, apply, diff, agent, task, workflow, runs, execute, why, approval, stimulus, node, cluster],
  ...[provider, volume, session, pattern, key],
  ...[limits, secret, whoami, audit, trace, message, tap, actor, deadLetter, chaos, tools, system, completion, version],
  ...[replay, exportRun, open, fork, login],
];

const EXIT_CODES =
  '\nExit codes: 0 ok, 1 not found, 2 wrong input, 3 not permitted, 4 conflict, 5 node unreachable or not ready,\n' +
  '10 internal error, or a followed execution that failed or was cancelled; 130 interrupted by Ctrl-C.';

/** All commands. */
export function svcProgram(): Command {
  const program = new Command('svc')
    .description('Runtime for fleets of agents: runs a node, and is the client of a node.')
    .option('--url <url>', 'address of the node (SVC_URL; default: that of the context, else http://127.0.0.1:8080)')
    .option('--host <host>', 'host of the node (SVC_HOST), instead of --url')
    .option('--port <port>', 'port of the node, instead of --url')
    .option('--token <token>', 'bearer token (SVC_TOKEN)')
    .option('--tenant <slug>', 'tenant in which a service account acts')
    .option('--output <format>', 'text, table, json or yaml', 'text')
    .addHelpText('after', EXIT_CODES)
    .showHelpAfterError(false);
  for (const add of COMMANDS) add(program);
  quietly(program);
  return program;
}

/** Keeps commander from ending the process and from writing errors: `runSvc` does both. */
function quietly(command: Command): void {
  command.exitOverride().configureOutput({ outputError: () => undefined });
  for (const child of command.commands) quietly(child);
}

/** Runs one command line and returns its exit code. Never prints a stack. */
export async function runSvc(args: readonly string[]): Promise<ExitCode> {
  process.stdout.on('error', endWithReader);
  try {
    const asked = args[0] === '--version' || args[0] === '-V' ? ['version', ...args.slice(1)] : args;
    await svcProgram().parseAsync([...asked], { from: 'user' });
    return EXIT.ok;
  } catch (thrown) {
    if (thrown instanceof CommanderError && (thrown.exitCode === 0 || thrown.code === 'commander.help')) {
      return thrown.exitCode === 0 ? EXIT.ok : EXIT.validation;
    }
    const failure = failureOf(thrown);
    process.stderr.write(`${paintFor(process.stderr, process.env).red('svc:')} ${printable(failure.message)}\n`);
    for (const problem of failure.problems) process.stderr.write(`  ${printable(problem)}\n`);
    return failure.exitCode;
  }
}

function failureOf(thrown: unknown): CliFailure {
  if (thrown instanceof CliFailure) return thrown;
  if (thrown instanceof CommanderError) return new CliFailure(EXIT.validation, thrown.message.replace(/^error: /, ''));
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const [first = '', ...rest] = message.split('\n');
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  const hint = code === 'EADDRINUSE' ? ' (choose another port; 0 picks a free one)' : '';
  return new CliFailure(
    START_FAILURES[code] ?? EXIT.internal,
    `${first}${hint}`,
    rest.map((line) => line.trim()),
  );
}

/** Exit codes for errors of a node that did not start. */
const START_FAILURES: Readonly<Record<string, ExitCode>> = {
  EADDRINUSE: EXIT.conflict,
  EADDRNOTAVAIL: EXIT.validation,
  EACCES: EXIT.permission,
  ENOTDIR: EXIT.validation,
  failed_precondition: EXIT.conflict,
  invalid_config: EXIT.validation,
  unavailable: EXIT.connection,
};

/** A reader that closed the pipe (`| head`) is not an error. A full disk is one. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
  process.stderr.write(`svc: standard output cannot be written (${error.code ?? error.message})\n`);
  process.exit(EXIT.internal);
}

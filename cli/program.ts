import { Command, CommanderError } from 'commander';
import { start } from './commands/start.ts';
import { CliFailure, EXIT, type ExitCode } from './failure.ts';
import { paintFor, printable } from './screen/paint.ts';

const EXIT_CODES =
  '\nExit codes: 0 ok, 1 not found, 2 wrong input, 3 not permitted, 4 conflict, 5 node unreachable or not ready,\n' +
  '10 internal error, or a followed execution that failed or was cancelled; 130 interrupted by Ctrl-C.';

/** The program with these commands. */
function programOf(commands: readonly ((program: Command) => void)[]): Command {
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
  for (const add of commands) add(program);
  quietly(program);
  return program;
}

export async function svcProgram(): Promise<Command> {
  const { COMMANDS } = await import('./commands/all.ts');
  return programOf(COMMANDS);
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
    // A node does not load the client commands.
    const program = asked[0] === 'start' ? programOf([start]) : await svcProgram();
    await program.parseAsync([...asked], { from: 'user' });
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

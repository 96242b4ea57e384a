import { Command, CommanderError } from 'commander';
import { agentDelete, agentDeploy, agentList, agentLogs, agentRun, agentShow } from './commands/agent.ts';
import { approvalApprove, approvalList, approvalReject } from './commands/approval.ts';
import { auditExport, auditVerify } from './commands/audit.ts';
import { catalogExport, catalogScope, catalogSearch, catalogStatus, catalogVersions } from './commands/catalog.ts';
import type { CatalogKind } from './commands/catalog-path.ts';
import { chaosFaults, chaosList } from './commands/chaos-faults.ts';
import { completion } from './commands/completion.ts';
import { agentGenerate, execute, workflowGenerate } from './commands/execute.ts';
import { keyCreate, keyList, keyRevoke, keyValidate } from './commands/key.ts';
import { limitsOverride, limitsUsage } from './commands/limits.ts';
import { nodeConfig, nodeDrain, nodeList, nodeRemove, nodeShow, nodeStatus } from './commands/node.ts';
import { nodeInit, nodeJoin, nodeLeave } from './commands/node-join.ts';
import { nodeToken } from './commands/node-token.ts';
import { patternList, patternQuery, patternStore } from './commands/pattern.ts';
import { run } from './commands/run.ts';
import { secretCreate, secretDelete, secretGet, secretList, secretRotate } from './commands/secret.ts';
import { sessionCalls, sessionList, sessionRevoke, sessionShow } from './commands/session.ts';
import { start } from './commands/start.ts';
import { stimulusList, stimulusRoute, stimulusSend } from './commands/stimulus.ts';
import { system, version } from './commands/system.ts';
import { taskCancel, taskExecute, taskList, taskLogs, taskRemove, taskStatus } from './commands/task.ts';
import { tools } from './commands/tools.ts';
import {
  volumeCreate,
  volumeDelete,
  volumeGet,
  volumeList,
  volumeLs,
  volumePut,
  volumeShow,
} from './commands/volume.ts';
import { workflowDelete, workflowDeploy, workflowList, workflowShow, workflowValidate } from './commands/workflow.ts';
import {
  workflowCancel,
  workflowExecutions,
  workflowLogs,
  workflowRun,
  workflowSignal,
  workflowStatus,
} from './commands/workflow-runs.ts';
import { CliFailure, EXIT, type ExitCode } from './failure.ts';
import { printable } from './paint.ts';

type Add = (to: Command) => void;

/** Commands of one subject, below its name. */
const group =
  (name: string, description: string, commands: readonly Add[]): Add =>
  (program) => {
    const parent = program.command(name).description(description);
    for (const add of commands) add(parent);
  };

/** What agents and workflows have both. */
const inCatalog = (kind: CatalogKind): readonly Add[] => [
  ...[catalogExport(kind), catalogVersions(kind), catalogSearch(kind), catalogStatus(kind), catalogScope(kind)],
];

const agent = group(
  'agent',
  'agents: generate, deploy, run, list, search, show, export, versions, logs, pause, resume, archive, promote, demote, delete',
  [...[agentGenerate, agentDeploy, agentRun, agentList, agentShow, agentLogs, agentDelete], ...inCatalog('agent')],
);
const task = group('task', 'executions: execute, status, list, logs, cancel, remove', [
  ...[taskExecute, taskStatus, taskList, taskLogs, taskCancel, taskRemove],
]);
const workflow = group(
  'workflow',
  'workflows: generate, validate, deploy, run, list, search, show, status, logs, signal, cancel, pause, resume, archive, promote, …',
  [
    workflowGenerate,
    ...[workflowValidate, workflowDeploy, workflowRun, workflowList, workflowShow, workflowStatus, workflowLogs],
    ...[workflowSignal, workflowCancel, workflowDelete, workflowExecutions],
    ...inCatalog('workflow'),
  ],
);
const approval = group('approval', 'what waits for a human: list, approve, reject', [
  ...[approvalList, approvalApprove, approvalReject],
]);
const stimulus = group('stimulus', 'events from outside: list, send, route', [
  ...[stimulusList, stimulusSend, stimulusRoute],
]);
const node = group('node', 'nodes of a fleet: set up, look at, drain, remove, configure, join tokens', [
  ...[nodeInit, nodeJoin, nodeStatus, nodeList, nodeShow, nodeDrain, nodeLeave, nodeRemove, nodeConfig, nodeToken],
]);
const volume = group('volume', 'volumes: create, list, show, delete, and their files', [
  ...[volumeCreate, volumeList, volumeShow, volumeDelete, volumeLs, volumePut, volumeGet],
]);
const session = group('session', 'sessions in which tools are called: list, show, calls, revoke', [
  ...[sessionList, sessionShow, sessionCalls, sessionRevoke],
]);
const pattern = group('pattern', 'what was learned from errors: list, query, store', [
  ...[patternList, patternQuery, patternStore],
]);
const key = group('key', 'API keys: create, list, revoke, validate', [keyCreate, keyList, keyRevoke, keyValidate]);
const limits = group('limits', 'rate limits: usage, override', [limitsUsage, limitsOverride]);
const secret = group('secret', 'secrets of a tenant: create, get, list, rotate, delete', [
  ...[secretCreate, secretGet, secretList, secretRotate, secretDelete],
]);
const audit = group('audit', 'what agents did with tools: export a chain, verify it offline', [
  ...[auditExport, auditVerify],
]);
const chaos = group('chaos', 'faults on purpose, where nodes are set to take them', [chaosFaults, chaosList]);

/** In the order of the help text. */
const COMMANDS: readonly Add[] = [
  ...[start, agent, task, workflow, run, execute, approval, stimulus, node, volume, session, pattern, key, limits],
  ...[secret, audit, chaos, tools, system, completion, version],
];

const EXIT_CODES =
  '\nExit codes: 0 ok, 1 not found, 2 wrong input, 3 not permitted, 4 conflict, 5 node not reached or not ready,\n' +
  '10 internal, or a followed execution that ended failed or cancelled; 130 stopped following by Ctrl-C.';

/** The whole command line as commander sees it. */
export function svcProgram(): Command {
  const program = new Command('svc')
    .description('Runtime for fleets of agents: a node, and the client of one.')
    .option('--url <url>', 'address of the node (SVC_URL; default http://127.0.0.1:8080)')
    .option('--host <host>', 'host of the node (SVC_HOST), instead of --url')
    .option('--port <port>', 'port of the node, instead of --url')
    .option('--token <token>', 'bearer token (SVC_TOKEN)')
    .option('--tenant <slug>', 'tenant a service account acts in')
    .option('--output <format>', 'text, table, json or yaml', 'text')
    .addHelpText('after', EXIT_CODES)
    .showHelpAfterError(false);
  for (const add of COMMANDS) add(program);
  quietly(program);
  return program;
}

/** Commander neither ends the process nor writes errors: `runSvc` does both, in one way. */
function quietly(command: Command): void {
  command.exitOverride().configureOutput({ outputError: () => undefined });
  for (const child of command.commands) quietly(child);
}

/** Runs one command line; the exit code says how it went. Never shows a stack. */
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
    process.stderr.write(`svc: ${printable(failure.message)}\n`);
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

/** Why a node did not start, by the code of its error. */
const START_FAILURES: Readonly<Record<string, ExitCode>> = {
  EADDRINUSE: EXIT.conflict,
  EADDRNOTAVAIL: EXIT.validation,
  EACCES: EXIT.permission,
  ENOTDIR: EXIT.validation,
  failed_precondition: EXIT.conflict,
  invalid_config: EXIT.validation,
  unavailable: EXIT.connection,
};

/** Whoever reads our output has enough (`| head`): that is no error. A full disk is one. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
  process.stderr.write(`svc: standard output cannot be written (${error.code ?? error.message})\n`);
  process.exit(EXIT.internal);
}

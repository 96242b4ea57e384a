import { Command, CommanderError } from 'commander';
import { agentDelete } from './commands/agent-delete.ts';
import { agentDeploy } from './commands/agent-deploy.ts';
import { agentList } from './commands/agent-list.ts';
import { agentLogs } from './commands/agent-logs.ts';
import { agentRun } from './commands/agent-run.ts';
import { agentShow } from './commands/agent-show.ts';
import { approvalApprove } from './commands/approval-approve.ts';
import { approvalList } from './commands/approval-list.ts';
import { approvalReject } from './commands/approval-reject.ts';
import { auditExport, auditVerify } from './commands/audit.ts';
import { catalogExport } from './commands/catalog-export.ts';
import type { CatalogKind } from './commands/catalog-path.ts';
import { catalogScope } from './commands/catalog-scope.ts';
import { catalogStatus } from './commands/catalog-status.ts';
import { catalogVersions } from './commands/catalog-versions.ts';
import { chaosFaults, chaosList } from './commands/chaos-faults.ts';
import { completion } from './commands/completion.ts';
import { execute } from './commands/execute.ts';
import { agentGenerate, workflowGenerate } from './commands/generate.ts';
import { keyCreate } from './commands/key-create.ts';
import { keyList } from './commands/key-list.ts';
import { keyRevoke } from './commands/key-revoke.ts';
import { keyValidate } from './commands/key-validate.ts';
import { limitsOverride } from './commands/limits-override.ts';
import { limitsUsage } from './commands/limits-usage.ts';
import { nodeConfig } from './commands/node-config.ts';
import { nodeDrain } from './commands/node-drain.ts';
import { nodeInit } from './commands/node-init.ts';
import { nodeJoin } from './commands/node-join.ts';
import { nodeLeave } from './commands/node-leave.ts';
import { nodeList } from './commands/node-list.ts';
import { nodeRemove } from './commands/node-remove.ts';
import { nodeShow } from './commands/node-show.ts';
import { nodeStatus } from './commands/node-status.ts';
import { nodeToken } from './commands/node-token.ts';
import { patternList } from './commands/pattern-list.ts';
import { patternQuery } from './commands/pattern-query.ts';
import { patternStore } from './commands/pattern-store.ts';
import { run } from './commands/run.ts';
import { catalogSearch } from './commands/search-catalog.ts';
import { secretCreate, secretRotate } from './commands/secret-put.ts';
import { secretDelete, secretGet, secretList } from './commands/secret-show.ts';
import { sessionCalls } from './commands/session-calls.ts';
import { sessionList } from './commands/session-list.ts';
import { sessionRevoke } from './commands/session-revoke.ts';
import { sessionShow } from './commands/session-show.ts';
import { start } from './commands/start.ts';
import { stimulusList } from './commands/stimulus-list.ts';
import { stimulusRoute } from './commands/stimulus-route.ts';
import { stimulusSend } from './commands/stimulus-send.ts';
import { system } from './commands/system.ts';
import { taskCancel } from './commands/task-cancel.ts';
import { taskExecute } from './commands/task-execute.ts';
import { taskList } from './commands/task-list.ts';
import { taskLogs } from './commands/task-logs.ts';
import { taskRemove } from './commands/task-remove.ts';
import { taskStatus } from './commands/task-status.ts';
import { tools } from './commands/tools.ts';
import { version } from './commands/version.ts';
import { volumeCreate } from './commands/volume-create.ts';
import { volumeDelete } from './commands/volume-delete.ts';
import { volumeGet, volumeLs, volumePut } from './commands/volume-files.ts';
import { volumeList } from './commands/volume-list.ts';
import { volumeShow } from './commands/volume-show.ts';
import { workflowCancel } from './commands/workflow-cancel.ts';
import { workflowDelete } from './commands/workflow-delete.ts';
import { workflowDeploy } from './commands/workflow-deploy.ts';
import { workflowExecutions } from './commands/workflow-executions.ts';
import { workflowList } from './commands/workflow-list.ts';
import { workflowLogs } from './commands/workflow-logs.ts';
import { workflowRun } from './commands/workflow-run.ts';
import { workflowShow } from './commands/workflow-show.ts';
import { workflowSignal } from './commands/workflow-signal.ts';
import { workflowStatus } from './commands/workflow-status.ts';
import { workflowValidate } from './commands/workflow-validate.ts';
import { CliFailure, EXIT, type ExitCode } from './failure.ts';
import { printable } from './printable.ts';

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

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { isObject, type JsonObject, numberOf, textOf } from '../json.ts';
import { printLog } from '../list-pages.ts';
import { workflowPath } from '../names.ts';
import { isForMachines, print } from '../output.ts';
import { printDone, printList, printOne } from '../print-answer.ts';
import { readInput, several, wholeNumber } from '../read-input.ts';
import { workflowEventLine } from '../screen/live-view.ts';
import { waitingInWords } from '../watch-execution.ts';
import { type RunOptions, runPath, startRun, statesOf, watchWorkflow } from '../watch-workflow.ts';
import { deploy, scopes, search, show, statuses, validate, versionsAndExport } from './catalog.ts';
import { generate } from './generate.ts';
import { timesOf } from './runs.ts';
import { type LogOptions, logsCommand } from './task.ts';

/** `svc workflow …`: deployed workflows and their runs. */
export function workflow(program: Command): void {
  const group = program.command('workflow').description('check, deploy, run, find and manage workflows and their runs');
  generate(group, 'workflow');
  validate(group, 'workflow');
  deploy(group, 'workflow');
  run(group);
  list(group);
  show(group, 'workflow').alias('describe');
  status(group);
  logs(group);
  signal(group);
  cancel(group);
  remove(group);
  executions(group);
  versionsAndExport(group, 'workflow');
  search(group, 'workflow');
  statuses(group, 'workflow');
  scopes(group, 'workflow');
}

interface ListOptions {
  readonly scope?: string;
  readonly runs?: true;
  readonly workflow?: string;
  readonly status?: string;
  readonly limit?: string;
  readonly skip?: string;
}

const COLUMNS = ['name', 'version', 'status', 'scope', 'initial_state', 'id', 'description'];

/** `svc workflow list`: the latest version of each workflow; with `--runs` its executions, newest first. */
function list(group: Command): void {
  group
    .command('list')
    .description('list deployed workflows, or with --runs executions of workflows')
    .option('--scope <scope>', "global, or visible for all that you can run (default: your tenant's)")
    .option('--runs', 'list executions, newest first')
    .option('--workflow <workflow>', 'with --runs: only executions of this workflow, name or id')
    .option('--status <status>', `deployed, paused or archived; with --runs ${RUNS}`)
    .option('--limit <count>', 'maximum number of entries (default: 1000)')
    .option('--skip <count>', 'number of entries to skip')
    .action(async ({ runs, workflow: name, scope, ...options }: ListOptions, command: Command) => {
      const limit = wholeNumber(options.limit, '--limit', 1);
      const skip = wholeNumber(options.skip, '--skip', 0);
      const shared = { status: options.status, limit };
      if (runs) {
        const query = { ...shared, workflow_id: name, offset: skip };
        return printList(command, {
          path: '/v1/workflows/executions',
          member: 'executions',
          query,
          ...WORKFLOW_RUNS,
        });
      }
      const query = { ...shared, scope, skip };
      return printList(command, { path: '/v1/workflows', member: 'workflows', query, columns: COLUMNS });
    });
}

/** `svc workflow delete NAME|ID`: with all versions; with `--run` the record of a run that has ended. */
function remove(group: Command): void {
  group
    .command('delete')
    .description('delete a workflow with all its versions')
    .argument('<workflow>', 'name or id; with --run an execution id')
    .option('--run', 'remove a workflow execution that has ended instead')
    .option('--force', 'delete it although executions of it are running; they continue')
    .action(async (id: string, options: { run?: true; force?: true }, command: Command) => {
      const path = options.run ? runPath(id) : await workflowPath(contextOf(command).client, id);
      const done = options.run ? `removed workflow execution ${id}` : `deleted workflow ${id}`;
      await printDone(command, ['DELETE', path], { query: { force: options.force && 'true' } }, done);
    });
}

/** Columns of workflow runs for people. */
const WORKFLOW_RUNS = {
  columns: [
    'execution_id',
    'workflow_name',
    'workflow_version',
    'status',
    'outcome',
    'current_state',
    'started',
    'duration',
  ],
  row: (one: JsonObject): JsonObject => ({ ...one, ...timesOf(one) }),
};

/** Statuses of a run. */
const RUNS = 'running, waiting_for_human_input, completed, failed or cancelled';

/** `svc workflow run NAME`: `--follow` shows events, `--wait` the states and then the output. */
function run(workflow: Command): void {
  workflow
    .command('run')
    .description('run a deployed workflow')
    .argument('<workflow>', 'name or id')
    .option('--input <json>', 'input, a JSON object; @FILE reads a file, - standard input')
    .option('--intent <text>', 'the goal; @FILE or - as above')
    .option('--blackboard <json>', 'initial entries of the blackboard, a JSON object; @FILE or - as above')
    .option('--version <version>', 'version of the workflow (default: the latest)')
    .option('--label <key=value>', 'label by which lists of runs filter; repeatable', several, [])
    .option('--follow', 'show events until the run ends')
    .option('--wait', 'show the states until the run ends, then print its output')
    .action(async (nameOrId: string, options: RunOptions & { follow?: true; wait?: true }, command: Command) => {
      const context = contextOf(command);
      const id = await startRun(context.client, nameOrId, options);
      if (!options.follow && !options.wait)
        return print(context.output, { value: { execution_id: id, status: 'started' }, text: id });
      process.stderr.write(`workflow execution ${id}\n`);
      if (options.follow) return watchWorkflow(context, id, { after: 0, show: 'events', states: [] });
      const states = await statesOf(context.client, nameOrId, options.version);
      return watchWorkflow(context, id, { after: 0, show: 'result', states });
    });
}

/** `svc workflow executions list | get` and `svc workflow remove`. */
function executions(workflow: Command): void {
  const group = workflow.command('executions').description('runs of workflows: list, get');
  group
    .command('list')
    .description('list runs, newest first')
    .option('--workflow <workflow>', 'only runs of this workflow: name or id')
    .option('--status <status>', RUNS)
    .option('--outcome <outcome>', 'succeeded, failed or cancelled')
    .option('--limit <count>', 'maximum number of runs (default: 20)')
    .option('--offset <count>', 'number of runs to skip')
    .action(async (options: Readonly<Record<string, string | undefined>>, command: Command) => {
      const query = {
        workflow_id: options.workflow,
        status: options.status,
        outcome: options.outcome,
        limit: wholeNumber(options.limit, '--limit', 1),
        offset: wholeNumber(options.offset, '--offset', 0),
      };
      await printList(command, { path: '/v1/workflows/executions', member: 'executions', query, ...WORKFLOW_RUNS });
    });
  group
    .command('get')
    .description('show a run with its input, blackboard and the outputs of its states')
    .argument('<id>', 'execution id')
    .action((id: string, _options: object, command: Command) => printOne(command, runPath(id)));
  workflow
    .command('remove')
    .description('remove the record of a run that has ended')
    .argument('<id>', 'execution id')
    .action((id: string, _options: object, command: Command) =>
      printDone(command, ['DELETE', runPath(id)], {}, `removed workflow execution ${id}`),
    );
}

/** `svc workflow status ID`. */
function status(workflow: Command): void {
  workflow
    .command('status')
    .description('show the status of a workflow execution, and what it waits for')
    .argument('<id>', 'execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('GET', runPath(id), { repeatable: true });
      if (isForMachines(output)) return print(output, { value: answer });
      const { state_outputs: _outputs, blackboard: _blackboard, ...short } = waitingInWords(answer);
      return print(output, { value: short });
    });
}

/** `svc workflow logs ID`: the recorded events, or with `--follow` the future ones. */
function logs(workflow: Command): void {
  logsCommand(workflow, 'a workflow execution').action(async (id: string, options: LogOptions, command: Command) => {
    const context = contextOf(command);
    if (!options.follow) return printLog(context, `${runPath(id)}/logs`, options, detailOf);
    const after = Number(wholeNumber(options.after, '--after', 0) ?? 0);
    return watchWorkflow(context, id, { after, show: 'events', states: [] });
  });
}

/** The line that `--follow` shows for the event. */
function detailOf(event: JsonObject): string {
  const payload = isObject(event.payload) ? event.payload : {};
  const line = { id: numberOf(event, 'sequence'), name: textOf(event, 'event_type'), payload, data: '' };
  return workflowEventLine(line) ?? '';
}

/** `svc workflow signal ID RESPONSE`. */
function signal(workflow: Command): void {
  workflow
    .command('signal')
    .description('answer the approval that a workflow execution waits for, such as with yes or no')
    .argument('<id>', 'execution id')
    .argument('<response>', 'becomes human.feedback in the workflow; @FILE reads a file, - standard input')
    .action(async (id: string, response: string, _options: object, command: Command) => {
      const json = { response: await readInput(response, 'RESPONSE') };
      await printDone(command, ['POST', `${runPath(id)}/signal`], { json }, `signalled workflow execution ${id}`);
    });
}

/** `svc workflow cancel ID`: its children are cancelled too. */
function cancel(workflow: Command): void {
  workflow
    .command('cancel')
    .description('cancel a workflow execution with its children')
    .argument('<id>', 'execution id')
    .action((id: string, _options: object, command: Command) =>
      printDone(command, ['POST', `${runPath(id)}/cancel`], {}, `cancelled workflow execution ${id}`),
    );
}

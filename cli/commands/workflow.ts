import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { workflowPath } from '../names.ts';
import { printDone, printList } from '../print-answer.ts';
import { wholeNumber } from '../read-input.ts';
import { runPath } from '../watch-workflow.ts';
import { deploy, scopes, search, show, statuses, validate, versionsAndExport } from './catalog.ts';
import { generate } from './generate.ts';
import { cancel, executions, logs, RUNS, run, signal, status, WORKFLOW_RUNS } from './workflow-runs.ts';

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

/** `svc workflow list`: the latest version of each workflow; with `--runs` executions, newest first. */
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

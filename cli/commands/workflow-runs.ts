import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { isObject, type JsonObject, numberOf, textOf } from '../json.ts';
import { printLog } from '../list-pages.ts';
import { isForMachines, print } from '../output.ts';
import { printDone, printList, printOne } from '../print-answer.ts';
import { readInput, several, wholeNumber } from '../read-input.ts';
import { workflowEventLine } from '../screen/live-view.ts';
import { waitingInWords } from '../watch-execution.ts';
import { type RunOptions, runPath, startRun, statesOf, watchWorkflow } from '../watch-workflow.ts';
import { timesOf } from './runs.ts';
import { type LogOptions, logsCommand } from './task.ts';

/** Runs of workflows as people read them. */
export const WORKFLOW_RUNS = {
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
export const RUNS = 'running, waiting_for_human_input, completed, failed or cancelled';

/** `svc workflow run NAME`: `--follow` shows events, `--wait` the states and then the output. */
export function run(workflow: Command): void {
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
export function executions(workflow: Command): void {
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
export function status(workflow: Command): void {
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

/** `svc workflow logs ID`: the recorded events, or with `--follow` those to come. */
export function logs(workflow: Command): void {
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
export function signal(workflow: Command): void {
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
export function cancel(workflow: Command): void {
  workflow
    .command('cancel')
    .description('cancel a workflow execution with its children')
    .argument('<id>', 'execution id')
    .action((id: string, _options: object, command: Command) =>
      printDone(command, ['POST', `${runPath(id)}/cancel`], {}, `cancelled workflow execution ${id}`),
    );
}

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { isObject, type JsonObject, numberOf, textOf } from '../json.ts';
import { listed, printLog } from '../list-pages.ts';
import { workflowEventLine } from '../live-view.ts';
import { type RunOptions, runPath, startRun, statesOf, watchWorkflow } from '../live-view-watch.ts';
import { print } from '../output.ts';
import { readInput, wholeNumber } from '../read-input.ts';
import { waitingInWords } from '../watch.ts';

/** `svc workflow run NAME`: starts a run; `--follow` shows its events, `--wait` its states and then its output. */
export function workflowRun(workflow: Command): void {
  workflow
    .command('run')
    .description('run a deployed workflow')
    .argument('<workflow>', 'name or id')
    .option('--input <json>', 'input, a JSON object; @FILE reads a file, - standard input')
    .option('--intent <text>', 'the goal; @FILE, -')
    .option('--blackboard <json>', 'first entries of the blackboard, a JSON object; @FILE, -')
    .option('--version <version>', 'version of the workflow; default the newest')
    .option('--follow', 'show the events as they come')
    .option('--wait', 'show the states until it ends, then print the output')
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

const COLUMNS = ['execution_id', 'workflow_id', 'status', 'current_state', 'started_at'];

/** `svc workflow executions list | get` and `svc workflow remove`: runs that were started. */
export function workflowExecutions(workflow: Command): void {
  const group = workflow.command('executions').description('runs of workflows: list, get');
  group
    .command('list')
    .description('list runs, newest first')
    .option('--workflow <workflow>', 'of this workflow: name or id')
    .option('--status <status>', 'running, waiting_for_human_input, completed, failed or cancelled')
    .option('--limit <count>', 'at most so many; default 20')
    .option('--offset <count>', 'leave out so many from the start')
    .action(async (options: Readonly<Record<string, string | undefined>>, command: Command) => {
      const { client, output } = contextOf(command);
      const query = {
        workflow_id: options.workflow,
        status: options.status,
        limit: wholeNumber(options.limit, '--limit', 1),
        offset: wholeNumber(options.offset, '--offset', 0),
      };
      const items = await listed(client, '/v1/workflows/executions', 'executions', query);
      await print(output, { value: items, rows: { items, columns: COLUMNS } });
    });
  group
    .command('get')
    .description('show a run with its input, its blackboard and the outputs of its states')
    .argument('<id>', 'execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      await print(output, { value: await client.json('GET', runPath(id), { repeatable: true }) });
    });
  workflow
    .command('remove')
    .description('remove a run that has ended')
    .argument('<id>', 'execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const value = await client.json('DELETE', runPath(id));
      await print(output, { value, text: `removed workflow execution ${id}` });
    });
}

/** `svc workflow status ID`: how a run stands, and what it waits for. */
export function workflowStatus(workflow: Command): void {
  workflow
    .command('status')
    .description('show how a workflow execution stands, and what it waits for')
    .argument('<id>', 'execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const run = await client.json('GET', runPath(id), { repeatable: true });
      if (output === 'json' || output === 'yaml') return print(output, { value: run });
      const { state_outputs: _outputs, blackboard: _blackboard, ...short } = waitingInWords(run);
      return print(output, { value: short });
    });
}

interface LogOptions {
  readonly follow?: true;
  readonly after?: string;
  readonly limit?: string;
  readonly offset?: string;
}

/** `svc workflow logs ID`: the recorded events; `--follow` shows them as they come, to the end. */
export function workflowLogs(workflow: Command): void {
  workflow
    .command('logs')
    .description('print the log of a workflow execution, oldest first')
    .argument('<id>', 'execution id')
    .option('--follow', 'show the events as they come, until the execution ends')
    .option('--after <number>', 'with --follow: go on behind this event')
    .option('--limit <count>', 'at most so many events')
    .option('--offset <count>', 'leave out so many from the start')
    .action(async (id: string, options: LogOptions, command: Command) => {
      const context = contextOf(command);
      if (!options.follow) return printLog(context, `${runPath(id)}/logs`, options, detailOf);
      const after = Number(wholeNumber(options.after, '--after', 0) ?? 0);
      return watchWorkflow(context, id, { after, show: 'events', states: [] });
    });
}

/** The line that following shows. */
function detailOf(event: JsonObject): string {
  const payload = isObject(event.payload) ? event.payload : {};
  const seen = { id: numberOf(event, 'sequence'), name: textOf(event, 'event_type'), payload, data: '' };
  return workflowEventLine(seen) ?? '';
}

/** `svc workflow signal ID RESPONSE`: answers the approval a run waits for. */
export function workflowSignal(workflow: Command): void {
  workflow
    .command('signal')
    .description('answer what a workflow execution waits for, such as yes or no')
    .argument('<id>', 'execution id')
    .argument('<response>', 'what conditions and human.feedback see; @FILE reads a file, - standard input')
    .action(async (id: string, response: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const json = { response: await readInput(response, 'RESPONSE') };
      const answer = await client.json('POST', `${runPath(id)}/signal`, { json });
      await print(output, { value: answer, text: `signalled workflow execution ${id}` });
    });
}

/** `svc workflow cancel ID`: ends a run with its children. */
export function workflowCancel(workflow: Command): void {
  workflow
    .command('cancel')
    .description('cancel a workflow execution')
    .argument('<id>', 'execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('POST', `${runPath(id)}/cancel`);
      await print(output, { value: answer, text: `cancelled workflow execution ${id}` });
    });
}

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { isObject, textOf } from '../json.ts';
import { listed, printLog } from '../list-pages.ts';
import { agentId, agentNames } from '../names.ts';
import { startOnce } from '../node-client.ts';
import { isForMachines, print } from '../output.ts';
import { printDone } from '../print-answer.ts';
import { labelsOf, readInput, readObject, several, wholeNumber } from '../read-input.ts';
import { showStarted } from '../tool-call.ts';
import { waitingInWords, watchExecution } from '../watch-execution.ts';
import { timesOf } from './runs.ts';

const PATH = '/v1/executions';

const pathOf = (id: string): string => `${PATH}/${encodeURIComponent(id)}`;

/** `svc task …`: executions of agents. */
export function task(program: Command): void {
  const group = program.command('task').description('start, list, follow, cancel and remove executions of agents');
  execute(group);
  status(group);
  list(group);
  logs(group);
  group
    .command('cancel')
    .description('cancel a running execution')
    .argument('<id>', 'execution id')
    .action((id: string, _options: object, command: Command) =>
      printDone(command, ['POST', `${pathOf(id)}/cancel`], {}, `cancelled execution ${id}`),
    );
  group
    .command('remove')
    .alias('delete')
    .description('remove the record of an execution that has ended')
    .argument('<id>', 'execution id')
    .action((id: string, _options: object, command: Command) =>
      printDone(command, ['DELETE', pathOf(id)], {}, `removed execution ${id}`),
    );
}

interface ExecuteOptions {
  readonly input?: string;
  readonly context?: string;
  readonly version?: string;
  readonly label: readonly string[];
  readonly follow?: true;
  readonly wait?: true;
}

/** `svc task execute AGENT`. */
function execute(group: Command): void {
  group
    .command('execute')
    .description('start an execution of an agent')
    .argument('<agent>', 'name or id')
    .option('--input <text>', 'task input; @FILE reads a file, - standard input')
    .option('--context <json>', 'values for the prompt template, a JSON object; @FILE or - as above')
    .option('--version <version>', 'version of the agent (default: the latest)')
    .option('--label <key=value>', 'label by which lists of runs filter; repeatable', several, [])
    .option('--follow', 'show events until the execution ends')
    .option('--wait', 'wait for the end and print the result')
    .action(async (nameOrId: string, options: ExecuteOptions, command: Command) => {
      const context = contextOf(command);
      const json = {
        input: await readInput(options.input ?? '', '--input'),
        context: options.context === undefined ? undefined : await readObject(options.context, '--context'),
        agent_id: await agentId(context.client, nameOrId),
        version: options.version,
        labels: labelsOf(options.label),
      };
      const answer = await context.client.json('POST', PATH, startOnce(json));
      const waits = textOf(answer.waiting_for, 'reason');
      if (waits !== '') process.stderr.write(`${waits}\n`);
      return showStarted(context, answer, options);
    });
}

/** `svc task list`: newest first. */
function list(group: Command): void {
  group
    .command('list')
    .description('list executions of agents, newest first; svc runs list has more filters')
    .option('--agent <agent>', 'only executions of this agent: name or id')
    .option('--status <status>', 'pending, running, completed, failed or cancelled')
    .option('--limit <count>', 'maximum number of executions (default: 20)')
    .action(async (options: { agent?: string; status?: string; limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = {
        agent_id: options.agent === undefined ? undefined : await agentId(client, options.agent),
        status: options.status,
        limit: wholeNumber(options.limit, '--limit', 1),
      };
      const items = await listed(client, PATH, 'executions', query);
      const usual = ['execution_id', 'agent', 'status', 'iteration_count', 'started', 'duration'];
      const columns = items.some(({ waiting_for }) => isObject(waiting_for)) ? [...usual, 'waiting_for'] : usual;
      const names = isForMachines(output) ? new Map<string, string>() : await agentNames(client);
      const rows = items.map((item) => ({
        ...waitingInWords(item),
        ...timesOf(item),
        // A deleted agent has only its id.
        agent: names.get(textOf(item, 'agent_id')) ?? item.agent_id,
      }));
      await print(output, { value: items, rows: { items: rows, columns } });
    });
}

/** `svc task status ID`. */
function status(group: Command): void {
  group
    .command('status')
    .description('show the status of an execution')
    .argument('<id>', 'execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('GET', pathOf(id), { repeatable: true });
      await print(output, { value: isForMachines(output) ? answer : waitingInWords(answer) });
    });
}

export interface LogOptions {
  readonly follow?: true;
  readonly after?: string;
  readonly limit?: string;
  readonly offset?: string;
}

/** `logs ID` with its options, for executions of agents and of workflows. */
export const logsCommand = (group: Command, what: string): Command =>
  group
    .command('logs')
    .description(`print the log of ${what}, oldest event first`)
    .argument('<id>', 'execution id')
    .option('--follow', 'show events until the execution ends')
    .option('--after <number>', 'with --follow: resume after this event')
    .option('--limit <count>', 'maximum number of events')
    .option('--offset <count>', 'number of events to skip');

/** `svc task logs ID`: the recorded events, or with `--follow` the future ones. */
function logs(group: Command): void {
  logsCommand(group, 'an execution').action(async (id: string, options: LogOptions, command: Command) => {
    const context = contextOf(command);
    if (!options.follow) return printLog(context, `${pathOf(id)}/events`, options);
    const after = Number(wholeNumber(options.after, '--after', 0) ?? 0);
    return watchExecution(context, id, { after, show: 'events' });
  });
}

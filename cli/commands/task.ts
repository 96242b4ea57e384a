import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { agentId } from '../find-agent.ts';
import { isObject, textOf } from '../json.ts';
import { listed, printLog } from '../list-pages.ts';
import { print } from '../output.ts';
import { readInput, readObject, wholeNumber } from '../read-input.ts';
import { showStarted } from '../tool-call.ts';
import { waitingInWords, watchExecution } from '../watch.ts';

interface ExecuteOptions {
  readonly input?: string;
  readonly context?: string;
  readonly version?: string;
  readonly follow?: true;
  readonly wait?: true;
}

/** `svc task execute AGENT`: starts an execution; `--follow` shows its events, `--wait` prints its result. */
export function taskExecute(task: Command): void {
  task
    .command('execute')
    .description('start an execution of an agent')
    .argument('<agent>', 'name or id')
    .option('--input <text>', 'task input; @FILE reads a file, - standard input')
    .option('--context <json>', 'values for the prompt template, a JSON object; @FILE, -')
    .option('--version <version>', 'version of the agent; default the newest')
    .option('--follow', 'show the events as they come')
    .option('--wait', 'wait for the end and print the result')
    .action(async (nameOrId: string, options: ExecuteOptions, command: Command) => {
      const context = contextOf(command);
      const input = await readInput(options.input ?? '', '--input');
      const values = options.context === undefined ? undefined : await readObject(options.context, '--context');
      const answer = await context.client.json('POST', '/v1/executions', {
        json: {
          agent_id: await agentId(context.client, nameOrId),
          input,
          ...(options.version === undefined ? {} : { version: options.version }),
          ...(values === undefined ? {} : { context: values }),
        },
        // Sent again after a cut connection, it starts nothing twice.
        headers: { 'idempotency-key': randomUUID() },
        repeatable: true,
      });
      const waits = textOf(answer.waiting_for, 'reason');
      if (waits !== '') process.stderr.write(`${waits}\n`);
      return showStarted(context, answer, options);
    });
}

/** `svc task list`: executions, newest first. */
export function taskList(task: Command): void {
  task
    .command('list')
    .description('list executions, newest first')
    .option('--agent <agent>', 'of this agent: name or id')
    .option('--status <status>', 'pending, running, completed, failed or cancelled')
    .option('--limit <count>', 'at most so many; default 20')
    .action(async (options: { agent?: string; status?: string; limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = {
        agent_id: options.agent === undefined ? undefined : await agentId(client, options.agent),
        status: options.status,
        limit: wholeNumber(options.limit, '--limit', 1),
      };
      const items = await listed(client, '/v1/executions', 'executions', query);
      const usual = ['execution_id', 'status', 'iteration_count', 'started_at', 'agent_id'];
      const columns = items.some(({ waiting_for }) => isObject(waiting_for)) ? [...usual, 'waiting_for'] : usual;
      await print(output, { value: items, rows: { items: items.map(waitingInWords), columns } });
    });
}

/** `svc task status ID`: the state of an execution. */
export function taskStatus(task: Command): void {
  task
    .command('status')
    .description('show the state of an execution')
    .argument('<id>', 'execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const status = await client.json('GET', `/v1/executions/${encodeURIComponent(id)}`, { repeatable: true });
      const forMachines = output === 'json' || output === 'yaml';
      await print(output, { value: forMachines ? status : waitingInWords(status) });
    });
}

interface LogOptions {
  readonly follow?: true;
  readonly after?: string;
  readonly limit?: string;
  readonly offset?: string;
}

/** `svc task logs ID`: the recorded events; `--follow` shows them as they come, to the end. */
export function taskLogs(task: Command): void {
  task
    .command('logs')
    .description('print the log of an execution, oldest first')
    .argument('<id>', 'execution id')
    .option('--follow', 'show the events as they come, until the execution ends')
    .option('--after <number>', 'with --follow: go on behind this event')
    .option('--limit <count>', 'at most so many events')
    .option('--offset <count>', 'leave out so many from the start')
    .action(async (id: string, options: LogOptions, command: Command) => {
      const context = contextOf(command);
      if (!options.follow) return printLog(context, `/v1/executions/${encodeURIComponent(id)}/events`, options);
      const after = Number(wholeNumber(options.after, '--after', 0) ?? 0);
      return watchExecution(context, id, { after, show: 'events' });
    });
}

/** `svc task cancel ID`: ends a running execution. */
export function taskCancel(task: Command): void {
  task
    .command('cancel')
    .description('cancel a running execution')
    .argument('<id>', 'execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('POST', `/v1/executions/${encodeURIComponent(id)}/cancel`);
      await print(output, { value: answer, text: `cancelled execution ${id}` });
    });
}

/** `svc task remove ID`: forgets an execution that has ended. */
export function taskRemove(task: Command): void {
  task
    .command('remove')
    .alias('delete')
    .description('remove an execution that has ended')
    .argument('<id>', 'execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('DELETE', `/v1/executions/${encodeURIComponent(id)}`);
      await print(output, { value: answer, text: `removed execution ${id}` });
    });
}

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { printLog } from '../list-pages.ts';
import { agentId } from '../names.ts';
import { startOnce } from '../node-client.ts';
import { printDone, printList } from '../print-answer.ts';
import { labelsOf, readInput, readObject, several, wholeNumber } from '../read-input.ts';
import { showStarted } from '../tool-call.ts';
import { deploy, scopes, search, show, statuses, validate, versionsAndExport } from './catalog.ts';
import { generate } from './generate.ts';

/** `svc agent …`: deployed agents. */
export function agent(program: Command): void {
  const group = program.command('agent').description('check, deploy, run, find and manage agents');
  generate(group, 'agent');
  validate(group, 'agent');
  deploy(group, 'agent');
  run(group);
  list(group);
  show(group, 'agent');
  logs(group);
  remove(group);
  versionsAndExport(group, 'agent');
  search(group, 'agent');
  statuses(group, 'agent');
  scopes(group, 'agent');
}

interface RunOptions {
  readonly input?: string;
  readonly version?: string;
  readonly label: readonly string[];
  readonly follow?: true;
  readonly wait?: true;
}

/** `svc agent run AGENT [INTENT]`: starts an execution from a goal and values, as svc.task.execute does. */
function run(group: Command): void {
  group
    .command('run')
    .description('start an execution from a goal and values')
    .argument('<agent>', 'name or id')
    .argument('[intent]', 'the goal; @FILE reads a file, - standard input')
    .option('--input <json>', 'values by name, a JSON object; @FILE or - as above')
    .option('--version <version>', 'version of the agent (default: the latest)')
    .option('--label <key=value>', 'label by which lists of runs filter; repeatable', several, [])
    .option('--follow', 'show events until the execution ends')
    .option('--wait', 'wait for the end and print the result')
    .action(async (nameOrId: string, intent: string | undefined, options: RunOptions, command: Command) => {
      const context = contextOf(command);
      const id = encodeURIComponent(await agentId(context.client, nameOrId));
      const json = {
        intent: intent === undefined ? undefined : await readInput(intent, 'INTENT'),
        input: options.input === undefined ? undefined : await readObject(options.input, '--input'),
        version: options.version,
        labels: labelsOf(options.label),
      };
      const answer = await context.client.json('POST', `/v1/agents/${id}/execute`, startOnce(json));
      return showStarted(context, answer, options);
    });
}

interface ListOptions {
  readonly scope?: string;
  readonly status?: string;
  readonly limit?: string;
  readonly skip?: string;
}

/** `svc agent list`: the latest version of each agent. */
function list(group: Command): void {
  group
    .command('list')
    .description('list deployed agents')
    .option('--scope <scope>', "global, or visible for all that you can run (default: your tenant's)")
    .option('--status <status>', 'deployed, paused or archived (default: all but archived)')
    .option('--limit <count>', 'maximum number of agents (default: 1000)')
    .option('--skip <count>', 'number of agents to skip')
    .action(async ({ scope, status, limit, skip }: ListOptions, command: Command) => {
      const page = { limit: wholeNumber(limit, '--limit', 1), skip: wholeNumber(skip, '--skip', 0) };
      const columns = ['name', 'version', 'status', 'scope', 'agent_id', 'description'];
      await printList(command, { path: '/v1/agents', member: 'agents', query: { scope, status, ...page }, columns });
    });
}

/** `svc agent logs NAME|ID`: deployments and changes of an agent. */
function logs(group: Command): void {
  group
    .command('logs')
    .description('print the log of an agent, oldest event first')
    .argument('<agent>', 'name or id')
    .option('--limit <count>', 'maximum number of events')
    .option('--offset <count>', 'number of events to skip')
    .action(async (nameOrId: string, options: { limit?: string; offset?: string }, command: Command) => {
      const context = contextOf(command);
      await printLog(context, `/v1/agents/${await agentId(context.client, nameOrId)}/logs`, options);
    });
}

/** `svc agent delete NAME|ID`: with all its versions. */
function remove(group: Command): void {
  group
    .command('delete')
    .alias('remove')
    .description('delete an agent with all its versions')
    .argument('<agent>', 'name or id')
    .option('--force', 'delete it although executions of it are running; they continue')
    .action(async (nameOrId: string, options: { force?: true }, command: Command) => {
      const id = await agentId(contextOf(command).client, nameOrId);
      const query = { force: options.force && 'true' };
      await printDone(command, ['DELETE', `/v1/agents/${id}`], { query }, `deleted agent ${id}`);
    });
}

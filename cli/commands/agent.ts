import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { agentId } from '../find-agent.ts';
import { textOf } from '../json.ts';
import { listed, printLog } from '../list-pages.ts';
import { warn } from '../live-view-watch.ts';
import { print } from '../output.ts';
import { forReader } from '../paint.ts';
import { readInput, readObject, readText, wholeNumber } from '../read-input.ts';
import { showStarted } from '../tool-call.ts';

/** `svc agent deploy FILE`: registers a manifest; warnings go to standard error. */
export function agentDeploy(agent: Command): void {
  agent
    .command('deploy')
    .description('deploy the agent of a manifest')
    .argument('<file>', 'YAML manifest; - for standard input')
    .option('--force', 'overwrite the same name and version')
    .option('--scope <scope>', 'user, tenant or global; default tenant')
    .action(async (file: string, options: { force?: true; scope?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('POST', '/v1/agents', {
        body: { type: 'application/yaml', text: await readText(file, 'FILE') },
        query: { force: options.force === true ? 'true' : undefined, scope: options.scope },
      });
      if (output === 'text' || output === 'table') warn(answer);
      await print(output, { value: answer, text: `deployed agent ${textOf(answer, 'agent_id')}` });
    });
}

interface ListOptions {
  readonly scope?: string;
  readonly status?: string;
  readonly limit?: string;
  readonly skip?: string;
}

/** `svc agent list`: the newest version of each agent. */
export function agentList(agent: Command): void {
  agent
    .command('list')
    .description('list deployed agents')
    .option('--scope <scope>', 'global, or visible for all that can be run; default those of the tenant')
    .option('--status <status>', 'deployed, paused or archived; default all but archived ones')
    .option('--limit <count>', 'at most so many; default 1000')
    .option('--skip <count>', 'leave out so many from the start')
    .action(async ({ scope, status, limit, skip }: ListOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const page = { limit: wholeNumber(limit, '--limit', 1), skip: wholeNumber(skip, '--skip', 0) };
      const query = { scope, status, ...page };
      const items = await listed(client, '/v1/agents', 'agents', query);
      await print(output, {
        value: items,
        rows: { items, columns: ['name', 'version', 'status', 'scope', 'agent_id', 'description'] },
      });
    });
}

/** `svc agent show NAME|ID`: an agent with its manifest. */
export function agentShow(agent: Command): void {
  agent
    .command('show')
    .description('show an agent with its manifest')
    .argument('<agent>', 'name or id')
    .option('--version <version>', 'version; default the newest')
    .action(async (nameOrId: string, options: { version?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const id = await agentId(client, nameOrId);
      const query = { version: options.version };
      const shown = await client.json('GET', `/v1/agents/${id}`, { query, repeatable: true });
      const { manifest, manifest_yaml, ...summary } = shown;
      if (output === 'json' || output === 'yaml') return print(output, { value: { ...summary, manifest } });
      await print(output, { value: summary });
      if (output === 'text' && typeof manifest_yaml === 'string')
        process.stdout.write(`\n${forReader(manifest_yaml.trimEnd())}\n`);
    });
}

interface RunOptions {
  readonly input?: string;
  readonly version?: string;
  readonly follow?: true;
  readonly wait?: true;
}

/** `svc agent run AGENT [INTENT]`: an execution from a goal and values, as svc.task.execute starts one. */
export function agentRun(agent: Command): void {
  agent
    .command('run')
    .description('start an execution from a goal and values')
    .argument('<agent>', 'name or id')
    .argument('[intent]', 'the goal; @FILE reads a file, - standard input')
    .option('--input <json>', 'values by name, a JSON object; @FILE, -')
    .option('--version <version>', 'version of the agent; default the newest')
    .option('--follow', 'show the events as they come')
    .option('--wait', 'wait for the end and print the result')
    .action(async (nameOrId: string, intent: string | undefined, options: RunOptions, command: Command) => {
      const context = contextOf(command);
      const id = encodeURIComponent(await agentId(context.client, nameOrId));
      const answer = await context.client.json('POST', `/v1/agents/${id}/execute`, {
        json: {
          ...(intent === undefined ? {} : { intent: await readInput(intent, 'intent') }),
          ...(options.input === undefined ? {} : { input: await readObject(options.input, '--input') }),
          ...(options.version === undefined ? {} : { version: options.version }),
        },
        // Sent again after a cut connection, it starts nothing twice.
        headers: { 'idempotency-key': randomUUID() },
        repeatable: true,
      });
      return showStarted(context, answer, options);
    });
}

/** `svc agent logs NAME|ID`: what happened to an agent. */
export function agentLogs(agent: Command): void {
  agent
    .command('logs')
    .description('print the log of an agent, oldest first')
    .argument('<agent>', 'name or id')
    .option('--limit <count>', 'at most so many events')
    .option('--offset <count>', 'leave out so many from the start')
    .action(async (nameOrId: string, options: { limit?: string; offset?: string }, command: Command) => {
      const context = contextOf(command);
      await printLog(context, `/v1/agents/${await agentId(context.client, nameOrId)}/logs`, options);
    });
}

/** `svc agent delete NAME|ID`: with all its versions. */
export function agentDelete(agent: Command): void {
  agent
    .command('delete')
    .alias('remove')
    .description('delete an agent with all its versions')
    .argument('<agent>', 'name or id')
    .option('--force', 'also while executions of it run; they go on')
    .action(async (nameOrId: string, options: { force?: true }, command: Command) => {
      const { client, output } = contextOf(command);
      const id = await agentId(client, nameOrId);
      const answer = await client.json('DELETE', `/v1/agents/${id}`, {
        query: { force: options.force === true ? 'true' : undefined },
      });
      await print(output, { value: answer, text: `deleted agent ${id}` });
    });
}

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listOf, textOf } from '../json.ts';
import { listed } from '../list-pages.ts';
import { print } from '../output.ts';
import { readInput, wholeNumber } from '../read-input.ts';

const COLUMNS = ['id', 'source', 'status', 'received_at', 'workflow_execution_id', 'reason'];

/** `svc stimulus list`: what came in and what became of it, newest first. */
export function stimulusList(stimulus: Command): void {
  stimulus
    .command('list')
    .description('list stimuli, newest first')
    .option('--limit <count>', 'at most so many; default 20')
    .action(async (options: { limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = { limit: wholeNumber(options.limit, '--limit', 1) };
      const items = await listed(client, '/v1/stimuli', 'stimuli', query);
      await print(output, { value: items, rows: { items, columns: COLUMNS } });
    });
}

const pathOf = (source: string): string => `/v1/stimuli/routes/${encodeURIComponent(source)}`;

/** `svc stimulus route list|add|remove`: which source starts which workflow. */
export function stimulusRoute(stimulus: Command): void {
  const route = stimulus.command('route').description('direct routes from sources to workflows');
  route
    .command('list')
    .description('list the direct routes')
    .action(async (_options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const items = listOf(await client.json('GET', '/v1/stimuli/routes', { repeatable: true }), 'routes');
      await print(output, { value: items, rows: { items, columns: ['source', 'workflow', 'origin'] } });
    });
  route
    .command('add')
    .description('route a source to a workflow, instead of where it went before')
    .argument('<source>', 'name of the source')
    .argument('<workflow>', 'name or id')
    .action(async (source: string, workflow: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('PUT', pathOf(source), { json: { workflow }, repeatable: true });
      await print(output, { value: answer, text: `${source} starts ${workflow}` });
    });
  route
    .command('remove')
    .description('remove a direct route')
    .argument('<source>', 'name of the source')
    .action(async (source: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('DELETE', pathOf(source));
      await print(output, { value: answer, text: `removed the route of ${source}` });
    });
}

/** `svc stimulus send CONTENT`: routes it to a workflow and prints the id of the execution that was started. */
export function stimulusSend(stimulus: Command): void {
  stimulus
    .command('send')
    .description('send a stimulus: its route or the router agent says which workflow starts')
    .argument('<content>', 'natural language or JSON; @FILE reads a file, - standard input')
    .option('--source <name>', 'where it comes from', 'http_api')
    .option('--key <key>', 'idempotency key: a repeat within 24 hours is refused')
    .action(async (given: string, options: { source: string; key?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const { source, key } = options;
      const content = await readInput(given, 'content');
      const json = { source, content, ...(key === undefined ? {} : { idempotency_key: key }) };
      // With a key a second one does no harm, but the answer would be that it is a duplicate: it is sent once.
      const answer = await client.json('POST', '/v1/stimuli', { json });
      await print(output, { value: answer, text: textOf(answer, 'workflow_execution_id') });
    });
}

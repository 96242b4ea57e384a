import type { Command } from 'commander';
import { textOf } from '../json.ts';
import { printDone, printList } from '../print-answer.ts';
import { readInput, wholeNumber } from '../read-input.ts';

const PATH = '/v1/stimuli';

/** `svc stimulus …`: events from outside that start workflows. */
export function stimulus(program: Command): void {
  const group = program.command('stimulus').description('list and send stimuli, and route their sources to workflows');
  list(group);
  send(group);
  routes(group.command('route').description('direct routes from sources to workflows: list, add, remove'));
}

/** `svc stimulus list`: newest first. */
function list(group: Command): void {
  group
    .command('list')
    .description('list stimuli, newest first')
    .option('--limit <count>', 'maximum number of stimuli (default: 20)')
    .action(async (options: { limit?: string }, command: Command) => {
      const query = { limit: wholeNumber(options.limit, '--limit', 1) };
      const columns = ['id', 'source', 'status', 'received_at', 'workflow_execution_id', 'reason'];
      await printList(command, { path: PATH, member: 'stimuli', query, columns });
    });
}

/** `svc stimulus send CONTENT`: prints the id of the workflow execution that it started. */
function send(group: Command): void {
  group
    .command('send')
    .description('send a stimulus; a route, or else the router agent, selects the workflow to start')
    .argument('<content>', 'plain text or JSON; @FILE reads a file, - standard input')
    .option('--source <name>', 'name of the source', 'http_api')
    .option('--key <key>', 'idempotency key: a repeat within 24 hours is refused')
    .action(async (given: string, { source, key }: { source: string; key?: string }, command: Command) => {
      const json = { source, content: await readInput(given, 'CONTENT'), idempotency_key: key };
      // Never retried: with a key the answer to a repeat would be that it is a duplicate.
      await printDone(command, ['POST', PATH], { json }, (answer) => textOf(answer, 'workflow_execution_id'));
    });
}

const routeOf = (source: string): string => `${PATH}/routes/${encodeURIComponent(source)}`;

/** `svc stimulus route list | add | remove`. */
function routes(group: Command): void {
  group
    .command('list')
    .description('list the direct routes')
    .action((_options: object, command: Command) =>
      printList(command, { path: `${PATH}/routes`, member: 'routes', columns: ['source', 'workflow', 'origin'] }),
    );
  group
    .command('add')
    .description('route a source to a workflow, replacing its route')
    .argument('<source>', 'name of the source')
    .argument('<workflow>', 'name or id')
    .action((source: string, workflow: string, _options: object, command: Command) => {
      const call = { json: { workflow }, repeatable: true };
      return printDone(command, ['PUT', routeOf(source)], call, `${source} starts ${workflow}`);
    });
  group
    .command('remove')
    .description('remove a direct route')
    .argument('<source>', 'name of the source')
    .action((source: string, _options: object, command: Command) =>
      printDone(command, ['DELETE', routeOf(source)], {}, `removed the route of ${source}`),
    );
}

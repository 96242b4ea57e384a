import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listed } from '../list-pages.ts';
import { runPath } from '../live-view-watch.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

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

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listed } from '../list-pages.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

interface ListOptions {
  readonly scope?: string;
  readonly runs?: true;
  readonly workflow?: string;
  readonly status?: string;
  readonly limit?: string;
  readonly skip?: string;
}

/** `svc workflow list`: deployed workflows; with `--runs` their executions, newest first. */
export function workflowList(workflow: Command): void {
  workflow
    .command('list')
    .description('list deployed workflows, or executions of workflows')
    .option('--scope <scope>', 'global, or visible for all that can be run; default those of the tenant')
    .option('--runs', 'list executions, newest first')
    .option('--workflow <workflow>', 'with --runs: of this workflow, by name or id')
    .option(
      '--status <status>',
      'deployed, paused or archived; with --runs running, waiting_for_human_input, completed, failed or cancelled',
    )
    .option('--limit <count>', 'at most so many; default 1000')
    .option('--skip <count>', 'leave out so many from the start')
    .action(async (options: ListOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const limit = wholeNumber(options.limit, '--limit', 1);
      const skip = wholeNumber(options.skip, '--skip', 0);
      if (options.runs) {
        const query = { workflow_id: options.workflow, status: options.status, limit, offset: skip };
        const items = await listed(client, '/v1/workflows/executions', 'executions', query);
        const columns = ['execution_id', 'workflow_name', 'status', 'current_state', 'started_at'];
        return print(output, { value: items, rows: { items, columns } });
      }
      const query = { scope: options.scope, status: options.status, limit, skip };
      const items = await listed(client, '/v1/workflows', 'workflows', query);
      return print(output, {
        value: items,
        rows: { items, columns: ['name', 'version', 'status', 'scope', 'initial_state', 'id', 'description'] },
      });
    });
}

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listed } from '../list-pages.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

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

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listed } from '../list-pages.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

const COLUMNS = ['session_id', 'source', 'status', 'calls', 'denied', 'opened_at', 'execution_id'];

/** `svc session list [--execution ID]`: newest first. */
export function sessionList(session: Command): void {
  session
    .command('list')
    .description('list sessions in which tools were called, newest first')
    .option('--execution <id>', 'of this execution')
    .option('--limit <count>', 'at most so many; default 100')
    .action(async (options: { execution?: string; limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = { execution_id: options.execution, limit: wholeNumber(options.limit, '--limit', 1) };
      const items = await listed(client, '/v1/seal/sessions', 'sessions', query);
      await print(output, { value: items, rows: { items, columns: COLUMNS } });
    });
}

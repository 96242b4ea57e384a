import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listed } from '../list-pages.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

const COLUMNS = ['name', 'id', 'storage_class', 'used_bytes', 'size_limit_bytes', 'expires_at'];

/** `svc volume list`: newest first. */
export function volumeList(volume: Command): void {
  volume
    .command('list')
    .description('list volumes, those of workflow executions too')
    .option('--limit <number>', 'at most so many')
    .action(async (options: { limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = { limit: wholeNumber(options.limit, '--limit', 1) };
      const items = await listed(client, '/v1/volumes', 'volumes', query);
      await print(output, { value: items, rows: { items, columns: COLUMNS } });
    });
}

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listed } from '../list-pages.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

export const PATTERN_COLUMNS = ['pattern_id', 'error_type', 'success_score', 'frequency', 'error_signature'];

/** `svc pattern list`: what was learned, strongest first. */
export function patternList(pattern: Command): void {
  pattern
    .command('list')
    .description('list learned patterns, strongest first')
    .option('--type <type>', 'only errors of this type')
    .option('--limit <count>', 'at most so many; default 10')
    .option('--skip <count>', 'leave out so many from the start')
    .action(async (options: { type?: string; limit?: string; skip?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = {
        error_type: options.type,
        limit: wholeNumber(options.limit, '--limit', 1),
        skip: wholeNumber(options.skip, '--skip', 0),
      };
      const items = await listed(client, '/v1/cortex/patterns', 'patterns', query);
      await print(output, { value: items, rows: { items, columns: PATTERN_COLUMNS } });
    });
}

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listed } from '../list-pages.ts';
import { print } from '../output.ts';
import { readInput, wholeNumber } from '../read-input.ts';
import { PATTERN_COLUMNS } from './pattern-list.ts';

/** `svc pattern query SIGNATURE`: what solved errors like it, best first. */
export function patternQuery(pattern: Command): void {
  pattern
    .command('query')
    .description('find what solved errors like this one, best first')
    .argument('<signature>', 'text of the error; @FILE reads a file, - standard input')
    .option('--type <type>', 'only errors of this type')
    .option('--limit <count>', 'at most so many, up to 100; default 10')
    .option('--min-success <score>', 'only those that succeeded so often, 0 to 1')
    .action(
      async (given: string, options: { type?: string; limit?: string; minSuccess?: string }, command: Command) => {
        const { client, output } = contextOf(command);
        const query = {
          error_signature: await readInput(given, 'signature'),
          error_type: options.type,
          limit: wholeNumber(options.limit, '--limit', 1),
          min_success_score: options.minSuccess,
        };
        const items = await listed(client, '/v1/cortex/patterns', 'patterns', query);
        await print(output, { value: items, rows: { items, columns: [...PATTERN_COLUMNS, 'solution_approach'] } });
      },
    );
}

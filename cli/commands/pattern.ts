import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { textOf } from '../json.ts';
import { listed } from '../list-pages.ts';
import { print } from '../output.ts';
import { readInput, wholeNumber } from '../read-input.ts';

const PATTERN_COLUMNS = ['pattern_id', 'error_type', 'success_score', 'frequency', 'error_signature'];

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

interface Options {
  readonly type: string;
  readonly solution: string;
  readonly message?: string;
  readonly code?: string;
  readonly tag: readonly string[];
}

/** `svc pattern store SIGNATURE`: an error and what solved it; prints the pattern's id. */
export function patternStore(pattern: Command): void {
  pattern
    .command('store')
    .description('store an error and what solved it; one that means the same is counted once more instead')
    .argument('<signature>', 'text of the error; @FILE reads a file, - standard input')
    .requiredOption('--type <type>', 'type of the error, such as TypeError')
    .requiredOption('--solution <text>', 'what solved it; @FILE reads a file')
    .option('--message <text>', 'message of this occurrence; @FILE reads a file')
    .option('--code <text>', 'code that solved it; @FILE reads a file')
    .option('--tag <tag>', 'a tag; may be repeated', (tag: string, tags: string[]) => [...tags, tag], [])
    .action(async (given: string, options: Options, command: Command) => {
      const { client, output } = contextOf(command);
      const { message, code } = options;
      const json = {
        error_signature: await readInput(given, 'signature'),
        error_type: options.type,
        solution_approach: await readInput(options.solution, '--solution'),
        ...(message === undefined ? {} : { error_message: await readInput(message, '--message') }),
        ...(code === undefined ? {} : { solution_code: await readInput(code, '--code') }),
        tags: options.tag,
      };
      // Not repeated by itself: a second one would be counted.
      const answer = await client.json('POST', '/v1/cortex/patterns', { json });
      await print(output, { value: answer, text: textOf(answer, 'pattern_id') });
    });
}

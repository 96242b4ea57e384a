import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { textOf } from '../json.ts';
import { print } from '../output.ts';
import { readInput } from '../read-input.ts';

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

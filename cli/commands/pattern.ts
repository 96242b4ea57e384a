import type { Command } from 'commander';
import { textOf } from '../json.ts';
import { printDone, printList } from '../print-answer.ts';
import { readInput, several, wholeNumber } from '../read-input.ts';

const PATH = '/v1/cortex/patterns';

const COLUMNS = ['pattern_id', 'error_type', 'success_score', 'frequency', 'error_signature'];

/** `svc pattern …`: errors and their solutions, learned by agents. */
export function pattern(program: Command): void {
  const group = program.command('pattern').description('list, query and store learned errors and their solutions');
  list(group);
  query(group);
  store(group);
}

/** `svc pattern list`: strongest first. */
function list(group: Command): void {
  group
    .command('list')
    .description('list learned patterns, strongest first')
    .option('--type <type>', 'only errors of this type')
    .option('--limit <count>', 'maximum number of patterns (default: 10)')
    .option('--skip <count>', 'number of patterns to skip')
    .action(async (options: { type?: string; limit?: string; skip?: string }, command: Command) => {
      const { type, limit, skip } = options;
      const page = { limit: wholeNumber(limit, '--limit', 1), skip: wholeNumber(skip, '--skip', 0) };
      await printList(command, {
        path: PATH,
        member: 'patterns',
        query: { error_type: type, ...page },
        columns: COLUMNS,
      });
    });
}

interface QueryOptions {
  readonly type?: string;
  readonly limit?: string;
  readonly minSuccess?: string;
}

/** `svc pattern query SIGNATURE`: solutions of similar errors, best match first. */
function query(group: Command): void {
  group
    .command('query')
    .description('find solutions of similar errors, best match first')
    .argument('<signature>', 'text of the error; @FILE reads a file, - standard input')
    .option('--type <type>', 'only errors of this type')
    .option('--limit <count>', 'maximum number of patterns, up to 100 (default: 10)')
    .option('--min-success <score>', 'lowest success score, 0 to 1')
    .action(async (given: string, options: QueryOptions, command: Command) => {
      const asked = {
        error_signature: await readInput(given, 'SIGNATURE'),
        error_type: options.type,
        limit: wholeNumber(options.limit, '--limit', 1),
        min_success_score: options.minSuccess,
      };
      const columns = [...COLUMNS, 'solution_approach'];
      await printList(command, { path: PATH, member: 'patterns', query: asked, columns });
    });
}

interface StoreOptions {
  readonly type: string;
  readonly solution: string;
  readonly message?: string;
  readonly code?: string;
  readonly tag: readonly string[];
}

/** `svc pattern store SIGNATURE`: prints the id of the pattern. */
function store(group: Command): void {
  group
    .command('store')
    .description('store an error and its solution; an equivalent pattern is counted once more instead')
    .argument('<signature>', 'text of the error; @FILE reads a file, - standard input')
    .requiredOption('--type <type>', 'type of the error, such as TypeError')
    .requiredOption('--solution <text>', 'what solved it; @FILE reads a file')
    .option('--message <text>', 'message of this occurrence; @FILE reads a file')
    .option('--code <text>', 'code that solved it; @FILE reads a file')
    .option('--tag <tag>', 'a tag; may be repeated', several, [])
    .action(async (given: string, { type, solution, message, code, tag }: StoreOptions, command: Command) => {
      const json = {
        error_signature: await readInput(given, 'SIGNATURE'),
        error_type: type,
        solution_approach: await readInput(solution, '--solution'),
        error_message: message === undefined ? undefined : await readInput(message, '--message'),
        solution_code: code === undefined ? undefined : await readInput(code, '--code'),
        tags: tag,
      };
      // Never retried: a repeat would be counted.
      await printDone(command, ['POST', PATH], { json }, (answer) => textOf(answer, 'pattern_id'));
    });
}

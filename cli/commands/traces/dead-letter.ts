import type { Command } from 'commander';
import { contextOf } from '../../context.ts';
import { isObject, type JsonObject, listOf, textOf } from '../../json.ts';
import { print, shownValue } from '../../output.ts';
import { printDone, printList } from '../../print-answer.ts';
import { readInput, wholeNumber } from '../../read-input.ts';

const PATH = '/v1/dead-letters';

const ID = ['<id>', 'id of the letter'] as const;

/** `svc dead-letter …`: messages that failed too often. */
export function deadLetter(program: Command): void {
  const group = program
    .command('dead-letter')
    .description('list, replay and discard messages that no actor could handle');
  list(group);
  show(group);
  group
    .command('replay')
    .description('send the message to its actor again')
    .argument(...ID)
    .option('--reason <text>', 'why, for the record; @FILE reads a file, - standard input')
    .action(async (id: string, { reason }: { reason?: string }, command: Command) => {
      const json = { reason: reason === undefined ? undefined : await readInput(reason, '--reason') };
      await printDone(command, ['POST', pathOf(id, '/replay')], { json }, (letter) => {
        const message = textOf(listOf(letter, 'replays').at(-1), 'message_id');
        return `sent to ${textOf(letter, 'address')} as message ${message}`;
      });
    });
  group
    .command('discard')
    .description('mark a letter as settled; it stays as a record')
    .argument(...ID)
    .requiredOption('--reason <text>', 'why, for the record; @FILE reads a file, - standard input')
    .action(async (id: string, { reason }: { reason: string }, command: Command) => {
      const json = { reason: await readInput(reason, '--reason') };
      await printDone(command, ['POST', pathOf(id, '/discard')], { json }, `discarded ${id}`);
    });
}

const pathOf = (id: string, behind = ''): string => `${PATH}/${encodeURIComponent(id)}${behind}`;

interface ListOptions {
  readonly kind?: string;
  readonly status?: string;
  readonly limit?: string;
}

function list(group: Command): void {
  group
    .command('list')
    .description('list dead letters, newest first')
    .option('--kind <kind>', 'only letters to actors of this kind')
    .option('--status <status>', 'open, replayed or discarded')
    .option('--limit <count>', 'maximum number of letters (default: 50)')
    .action(async ({ kind, status, limit }: ListOptions, command: Command) => {
      const query = { kind, status, limit: wholeNumber(limit, '--limit', 1) };
      const columns = ['id', 'at', 'status', 'type', 'error'];
      const row = (letter: JsonObject): JsonObject => ({ ...letter, type: typeOf(letter) });
      await printList(command, { path: PATH, member: 'dead_letters', query, columns, row });
    });
}

const typeOf = (letter: JsonObject): string => textOf(letter.message, 'type') || textOf(letter, 'kind');

function show(group: Command): void {
  group
    .command('show')
    .description('show a dead letter, its payload and what was done with it')
    .argument(...ID)
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const letter = await client.json('GET', pathOf(id), { repeatable: true });
      await print(output, { value: letter, text: shownLetter(letter) });
    });
}

function shownLetter(letter: JsonObject): string {
  const { message, discarded, payload } = letter;
  const line = (label: string, text: string): string => `${label.padEnd(9)}  ${text}`;
  const step = (label: string, one: unknown): string => {
    const [at, by, reason] = ['at', 'by', 'reason'].map((field) => textOf(one, field));
    return line(label, `${at} by ${by}${reason === '' ? '' : `: ${reason}`}`);
  };
  return [
    line('letter', `${textOf(letter, 'id')}, ${textOf(letter, 'status')}`),
    line('to', textOf(letter, 'address')),
    line('message', `${typeOf(letter)} ${textOf(message, 'message_id')}`),
    line('trace', textOf(message, 'trace_id') || '-'),
    line('failed', `${textOf(letter, 'at')}: ${textOf(letter, 'error')}`),
    ...listOf(letter, 'replays').map((one) => step('replayed', one)),
    ...(isObject(discarded) ? [step('discarded', discarded)] : []),
    'payload',
    shownValue(payload),
  ].join('\n');
}

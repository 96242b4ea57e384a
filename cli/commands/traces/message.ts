import type { Command } from 'commander';
import { contextOf } from '../../context.ts';
import { isObject, type JsonObject, listOf, numberOf, textOf } from '../../json.ts';
import { print, shownValue } from '../../output.ts';
import { wholeNumber } from '../../read-input.ts';
import { duration } from './trace-tree.ts';

const ID = ['<id>', 'id of a message'] as const;

const pathOf = (id: string, behind = ''): string => `/v1/messages/${encodeURIComponent(id)}${behind}`;

/** `svc message …`: single messages, their causes and their effects. */
export function message(program: Command): void {
  const group = program.command('message').description('show a message, what led to it and what followed from it');
  group
    .command('show', { isDefault: true })
    .description('show a message, its payload and each attempt')
    .argument(...ID)
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('GET', pathOf(id), { repeatable: true });
      await print(output, { value: answer, text: shownMessage(answer) });
    });
  chain(group, 'causes', 'list the messages that led to a message, nearest first');
  chain(group, 'effects', 'list the messages that followed from a message, nearest first');
}

function chain(group: Command, name: 'causes' | 'effects', about: string): void {
  group
    .command(name)
    .description(about)
    .argument(...ID)
    .option('--depth <count>', 'most messages in a row, at most 20 (default: 5)')
    .action(async (id: string, { depth }: { depth?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = { depth: wholeNumber(depth, '--depth', 1) };
      const answer = await client.json('GET', pathOf(id, `/${name}`), { query, repeatable: true });
      const items = listOf(answer, 'deliveries').map((row) => ({
        ...row,
        type: `${'  '.repeat(name === 'effects' ? numberOf(row, 'depth') - 1 : 0)}${textOf(row, 'type')}`,
        waited: duration(numberOf(row, 'wait_ms')),
        turn: duration(numberOf(row, 'turn_ms')),
      }));
      const columns = ['type', 'to', 'at', 'waited', 'turn', 'outcome', 'message_id'];
      await print(output, { value: answer, rows: { items, columns } });
    });
}

function shownMessage(answer: JsonObject): string {
  const line = (label: string, text: string): string => `${label.padEnd(8)}  ${text}`;
  const { caller } = answer;
  const attempts = listOf(answer, 'attempts').map((one) => {
    const [number, at, outcome, node, error] = ['attempt', 'at', 'outcome', 'node', 'error'].map((field) =>
      textOf(one, field),
    );
    const times = `waited ${duration(numberOf(one, 'wait_ms'))}, turn ${duration(numberOf(one, 'turn_ms'))}`;
    return line('attempt', `${number} at ${at} on ${node || '-'}: ${outcome}, ${times}${error ? `: ${error}` : ''}`);
  });
  return [
    line('message', `${textOf(answer, 'type')} ${textOf(answer, 'message_id')}, ${textOf(answer, 'outcome')}`),
    line('from', textOf(answer, 'from') || textOf(answer, 'origin')),
    line('to', textOf(answer, 'to')),
    line('cause', textOf(answer, 'cause_id') || '-'),
    line('trace', textOf(answer, 'trace_id')),
    ...(isObject(caller) ? [line('caller', `${textOf(caller, 'kind')} ${textOf(caller, 'subject')}`)] : []),
    ...attempts,
    'payload',
    answer.payload_omitted === true ? `(${textOf(answer, 'payload_chars')} characters)` : shownValue(answer.payload),
  ].join('\n');
}

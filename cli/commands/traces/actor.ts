import type { Command } from 'commander';
import { contextOf } from '../../context.ts';
import { isObject, type JsonObject, listOf, numberOf, textOf, textsOf } from '../../json.ts';
import { listed } from '../../list-pages.ts';
import { counted, print, shownValue } from '../../output.ts';
import { wholeNumber } from '../../read-input.ts';

const KIND = ['<kind>', 'kind of the actor, such as execution or workflow'] as const;

const ID = ['<id>', 'id of the actor'] as const;

/** Entries of a list without `--limit`. */
const USUAL_LIMIT = '100';

/** Path of an actor. */
const pathOf = (kind: string, id: string): string => `/v1/actors/${encodeURIComponent(kind)}/${encodeURIComponent(id)}`;

/** `svc actor …`: single actors: committed state, mailbox, timers and effects. */
export function actor(program: Command): void {
  const group = program.command('actor').description('look at single actors');
  group
    .command('show')
    .description('show the state of an actor, its mailbox, timers and open effects')
    .argument(...KIND)
    .argument(...ID)
    .action(async (kind: string, id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('GET', pathOf(kind, id), { repeatable: true });
      await print(output, { value: answer, text: shownActor(answer) });
    });
  mailbox(group);
  history(group);
  state(group);
  diff(group);
}

function mailbox(group: Command): void {
  group
    .command('mailbox')
    .description('list the messages that wait for an actor, oldest first')
    .argument(...KIND)
    .argument(...ID)
    .option('--limit <count>', 'maximum number of messages (default: 100)')
    .action(async (kind: string, id: string, { limit }: { limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = { limit: wholeNumber(limit, '--limit', 1) ?? USUAL_LIMIT };
      const items = await listed(client, `${pathOf(kind, id)}/mailbox`, 'messages', query);
      await print(output, { value: items, rows: { items, columns: ['at', 'type', 'from', 'reason', 'message_id'] } });
    });
}

interface HistoryOptions {
  readonly newest?: boolean;
  readonly limit?: string;
}

function history(group: Command): void {
  group
    .command('history')
    .description('list the messages that an actor got, oldest first')
    .argument(...KIND)
    .argument(...ID)
    .option('--newest', 'newest first')
    .option('--limit <count>', 'maximum number of messages (default: 100)')
    .action(async (kind: string, id: string, { newest, limit }: HistoryOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const query = {
        order: newest === true ? 'newest_first' : 'oldest_first',
        limit: wholeNumber(limit, '--limit', 1) ?? USUAL_LIMIT,
      };
      const items = await listed(client, `${pathOf(kind, id)}/history`, 'deliveries', query);
      const columns = ['at', 'type', 'from', 'wait_ms', 'turn_ms', 'outcome', 'message_id'];
      await print(output, { value: items, rows: { items, columns } });
    });
}

function state(group: Command): void {
  group
    .command('state')
    .description('show the state of an actor after a message, rebuilt by replay')
    .argument(...KIND)
    .argument(...ID)
    .requiredOption('--at <message>', 'id of a message that the actor got')
    .action(async (kind: string, id: string, { at }: { at: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('GET', `${pathOf(kind, id)}/state`, { query: { at }, repeatable: true });
      const head = `${textOf(answer, 'address')} after ${at}: revision ${textOf(answer, 'revision')}`;
      const shown = shownValue(answer.state);
      await print(output, { value: answer, text: [head, ...differenceIn(answer), shown].join('\n') });
    });
}

function diff(group: Command): void {
  group
    .command('diff')
    .description('show what changed in the state of an actor between two messages')
    .argument(...KIND)
    .argument(...ID)
    .requiredOption('--to <message>', 'state after this message')
    .option('--from <message>', 'state after this message (default: just before --to)')
    .action(async (kind: string, id: string, query: { from?: string; to: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('GET', `${pathOf(kind, id)}/diff`, { query: { ...query }, repeatable: true });
      const lines = listOf(answer, 'changes').flatMap((change) => {
        const path = textOf(change, 'path') || '/';
        const [old, now] = [JSON.stringify(change.before), JSON.stringify(change.after)];
        const kind = textOf(change, 'kind');
        return [
          ...(kind === 'added' ? [] : [`- ${path}: ${old}`]),
          ...(kind === 'removed' ? [] : [`+ ${path}: ${now}`]),
        ];
      });
      const none = lines.length === 0 ? ['nothing changed'] : lines;
      await print(output, { value: answer, text: [...differenceIn(answer), ...none].join('\n') });
    });
}

/** A line about the first difference between the replay and the recording, if there is one. */
function differenceIn({ differs }: JsonObject): string[] {
  if (!isObject(differs)) return [];
  const parts = textsOf(differs, 'parts').join(', ');
  return [`the replay differs from the record at message ${textOf(differs, 'message_id')}: ${parts}`];
}

function shownActor(answer: JsonObject): string {
  const { mailbox, stuck, state, archived, state_omitted } = answer;
  const line = (label: string, text: string): string => `${label.padEnd(10)}  ${text}`;
  const lines = [
    line('address', textOf(answer, 'address')),
    line('revision', `${textOf(answer, 'revision')}, last event ${textOf(answer, 'last_event')}`),
    line('partition', `${textOf(answer, 'partition')}${archived === true ? ', archived' : servedBy(answer)}`),
    line('mailbox', `${textOf(mailbox, 'depth')} waiting${since(textOf(mailbox, 'oldest_at'))}`),
    ...listOf(answer, 'timers').map((timer) => line('timer', `${textOf(timer, 'name')} at ${textOf(timer, 'due_at')}`)),
    ...listOf(answer, 'effects').map((effect) => line('effect', effectLine(effect))),
  ];
  if (isObject(stuck)) {
    const [type, error] = ['message_type', 'error'].map((field) => textOf(stuck, field));
    lines.push(line('stuck', `${type} failed ${counted(numberOf(stuck, 'attempts'), 'time')}: ${error}`));
  }
  const shown = state_omitted === true ? `(${textOf(answer, 'state_chars')} characters)` : shownValue(state);
  return [...lines, 'state', shown].join('\n');
}

const servedBy = (answer: JsonObject): string =>
  typeof answer.node === 'string' ? `, served by ${answer.node}` : ', served by no node';

const since = (at: string): string => (at === '' ? '' : `, since ${at}`);

function effectLine(effect: JsonObject): string {
  const [kind, status, attempt, node, retryAt] = ['kind', 'status', 'attempt', 'node', 'retry_at'].map((field) =>
    textOf(effect, field),
  );
  const where = node === '' ? '' : ` on ${node}`;
  return `${kind || 'unknown'} ${status}, attempt ${attempt}${where}${retryAt === '' ? '' : `, next at ${retryAt}`}`;
}

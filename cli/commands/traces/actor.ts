import type { Command } from 'commander';
import { contextOf } from '../../context.ts';
import { isObject, type JsonObject, listOf, textOf } from '../../json.ts';
import { print } from '../../output.ts';

const KIND = ['<kind>', 'kind of the actor, such as execution or workflow'] as const;

const ID = ['<id>', 'id of the actor'] as const;

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
    const [type, attempts, error] = ['message_type', 'attempts', 'error'].map((field) => textOf(stuck, field));
    lines.push(line('stuck', `${type} failed ${attempts} times: ${error}`));
  }
  const shown =
    state_omitted === true ? `(${textOf(answer, 'state_chars')} characters)` : JSON.stringify(state, null, 2);
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

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { type JsonObject, listOf, numberOf, textOf } from '../json.ts';
import { print } from '../output.ts';
import { printDone, printList, printOne } from '../print-answer.ts';
import { wholeNumber } from '../read-input.ts';

const PATH = '/v1/seal/sessions';

const pathOf = (id: string): string => `${PATH}/${encodeURIComponent(id)}`;

/** `svc session …`: sessions in which tools are called. */
export function session(program: Command): void {
  const group = program.command('session').description('list, show and revoke tool sessions, and list their calls');
  list(group);
  group
    .command('show')
    .description('show a session: owner, status, number of calls and denied calls')
    .argument('<session>', 'session id')
    .action((id: string, _options: object, command: Command) => printOne(command, pathOf(id)));
  calls(group);
  group
    .command('revoke')
    .description('revoke a session: no more tools can be called in it; its audit chain stays')
    .argument('<session>', 'session id')
    .action((id: string, _options: object, command: Command) =>
      printDone(command, ['POST', `${pathOf(id)}/revoke`], { repeatable: true }, (answer) =>
        answer.status === 'closed' ? `session ${id} was closed already` : `revoked session ${id}`,
      ),
    );
}

/** `svc session list`: newest first. */
function list(group: Command): void {
  group
    .command('list')
    .description('list tool sessions, newest first')
    .option('--execution <id>', 'only sessions of this execution')
    .option('--limit <count>', 'maximum number of sessions (default: 100)')
    .action(async (options: { execution?: string; limit?: string }, command: Command) => {
      const query = { execution_id: options.execution, limit: wholeNumber(options.limit, '--limit', 1) };
      const columns = ['session_id', 'source', 'status', 'calls', 'denied', 'opened_at', 'execution_id'];
      await printList(command, { path: PATH, member: 'sessions', query, columns });
    });
}

/** `svc session calls SESSION`: read from the audit chain. */
function calls(group: Command): void {
  group
    .command('calls')
    .description('list the tool calls of a session with decision, reason and outcome')
    .argument('<session>', 'session id; for the inner loop of an execution the execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const items = callsOf(await client.json('GET', `${pathOf(id)}/audit`, { repeatable: true }));
      const columns = ['sequence', 'at', 'tool', 'decision', 'outcome', 'why'];
      await print(output, { value: items, rows: { items, columns } });
    });
}

/**
 * The calls in an exported audit chain, oldest first, with the decision on each and the outcome of those that ran. The
 * outcome is empty for calls that were denied and for those that still run.
 */
export function callsOf(chain: unknown): JsonObject[] {
  const records = listOf(chain, 'records').map((record) => ({ record, body: record.body }));
  const ofKind = (kind: string) => records.filter(({ body }) => textOf(body, 'kind') === kind);
  const ends = new Map(ofKind('ended').map(({ body }) => [textOf(body, 'call'), body]));
  return ofKind('decided').map(({ record, body }) => {
    const isAllowed = textOf(body, 'decision') === 'allowed';
    const end = isAllowed ? ends.get(textOf(body, 'call')) : undefined;
    return {
      sequence: numberOf(record, 'sequence'),
      at: textOf(record, 'at'),
      tool: textOf(body, 'tool'),
      decision: textOf(body, 'decision'),
      outcome: textOf(end, 'outcome'),
      why: isAllowed ? textOf(end, 'error') : textOf(body, 'reason'),
    };
  });
}

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { isObject, type JsonObject, listOf, numberOf, textOf } from '../json.ts';
import { listed } from '../list-pages.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

const COLUMNS = ['session_id', 'source', 'status', 'calls', 'denied', 'opened_at', 'execution_id'];

/** `svc session list [--execution ID]`: newest first. */
export function sessionList(session: Command): void {
  session
    .command('list')
    .description('list sessions in which tools were called, newest first')
    .option('--execution <id>', 'of this execution')
    .option('--limit <count>', 'at most so many; default 100')
    .action(async (options: { execution?: string; limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = { execution_id: options.execution, limit: wholeNumber(options.limit, '--limit', 1) };
      const items = await listed(client, '/v1/seal/sessions', 'sessions', query);
      await print(output, { value: items, rows: { items, columns: COLUMNS } });
    });
}

/** `svc session show SESSION`. */
export function sessionShow(session: Command): void {
  session
    .command('show')
    .description('show a session: whose it is, whether it is active, how many calls were made and denied')
    .argument('<session>', 'id of the session')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const path = `/v1/seal/sessions/${encodeURIComponent(id)}`;
      await print(output, { value: await client.json('GET', path, { repeatable: true }) });
    });
}

/** `svc session calls SESSION`: what its audit chain says of each call. */
export function sessionCalls(session: Command): void {
  session
    .command('calls')
    .description('list the tool calls of a session: allowed or denied and why, and how they ended')
    .argument('<session>', 'id of the session; of the inner loop of an execution: the id of the execution')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const path = `/v1/seal/sessions/${encodeURIComponent(id)}/audit`;
      const items = callsOf(await client.json('GET', path, { repeatable: true }));
      await print(output, { value: items, rows: { items, columns: CALL_COLUMNS } });
    });
}

/** `svc session revoke SESSION`: at once, on every node. */
export function sessionRevoke(session: Command): void {
  session
    .command('revoke')
    .description('end a session: nothing more is called in it; its audit chain stays')
    .argument('<session>', 'id of the session')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('POST', `/v1/seal/sessions/${encodeURIComponent(id)}/revoke`, {
        repeatable: true,
      });
      const closed = isObject(answer) && answer.status === 'closed';
      await print(output, {
        value: answer,
        text: closed ? `session ${id} was closed already` : `revoked session ${id}`,
      });
    });
}

const CALL_COLUMNS = ['sequence', 'at', 'tool', 'decision', 'outcome', 'why'];

/**
 * The calls of an exported audit chain, oldest first: what was decided about each, and how those that ran ended. `outcome`
 * is empty for a call that was denied, and for one that still runs.
 */
export function callsOf(chain: unknown): JsonObject[] {
  const bodies = listOf(chain, 'records').map((record) => ({ record, body: record.body }));
  const ends = new Map(
    bodies.filter(({ body }) => textOf(body, 'kind') === 'ended').map(({ body }) => [textOf(body, 'call'), body]),
  );
  return bodies
    .filter(({ body }) => textOf(body, 'kind') === 'decided')
    .map(({ record, body }) => {
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

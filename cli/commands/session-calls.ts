import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { print } from '../output.ts';
import { CALL_COLUMNS, callsOf } from '../session-calls.ts';

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

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { print } from '../output.ts';

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

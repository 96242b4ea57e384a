import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { textOf } from '../json.ts';
import { print } from '../output.ts';

/** `svc key revoke ID`. */
export function keyRevoke(key: Command): void {
  key
    .command('revoke')
    .description('revoke an API key: no node takes it after a second')
    .argument('<id>', 'UUID of the key')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('DELETE', `/v1/api-keys/${encodeURIComponent(id)}`, { repeatable: true });
      await print(output, {
        value: answer,
        text: `revoked API key ${textOf(answer, 'id')} (${textOf(answer, 'name')})`,
      });
    });
}

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { isObject } from '../json.ts';
import { print } from '../output.ts';

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

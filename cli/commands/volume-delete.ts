import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { volumeId } from '../find-volume.ts';
import { print } from '../output.ts';

/** `svc volume delete NAME|ID`: with all its files. */
export function volumeDelete(volume: Command): void {
  volume
    .command('delete')
    .alias('remove')
    .description('delete a volume with all its files')
    .argument('<volume>', 'name or id')
    .action(async (nameOrId: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const id = await volumeId(client, nameOrId);
      const answer = await client.json('DELETE', `/v1/volumes/${id}`);
      await print(output, { value: answer, text: `deleted volume ${id}` });
    });
}

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { volumeId } from '../find-volume.ts';
import { print } from '../output.ts';

/** `svc volume show NAME|ID`. */
export function volumeShow(volume: Command): void {
  volume
    .command('show')
    .description('show a volume and how full it is')
    .argument('<volume>', 'name or id')
    .action(async (nameOrId: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const id = await volumeId(client, nameOrId);
      await print(output, { value: await client.json('GET', `/v1/volumes/${id}`, { repeatable: true }) });
    });
}

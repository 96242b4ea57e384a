import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { textOf } from '../json.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

const MiB = 1024 * 1024;

interface Options {
  readonly class: string;
  readonly sizeMb?: string;
  readonly ttlHours?: string;
}

/** `svc volume create NAME`. */
export function volumeCreate(volume: Command): void {
  volume
    .command('create')
    .description('create a volume')
    .argument('<name>', 'unique in the tenant')
    .option('--class <class>', 'persistent, or ephemeral: removed after its time', 'persistent')
    .option('--size-mb <number>', "size limit in MiB (default: the node's)")
    .option('--ttl-hours <number>', "ephemeral only (default: the node's)")
    .action(async (name: string, options: Options, command: Command) => {
      const { client, output } = contextOf(command);
      const sizeMb = wholeNumber(options.sizeMb, '--size-mb', 1);
      const hours = wholeNumber(options.ttlHours, '--ttl-hours', 1);
      const json = {
        ...{ name, storage_class: options.class },
        ...(sizeMb === undefined ? {} : { size_limit_bytes: Number(sizeMb) * MiB }),
        ...(hours === undefined ? {} : { ttl_hours: Number(hours) }),
      };
      const answer = await client.json('POST', '/v1/volumes', { json });
      await print(output, { value: answer, text: `created volume ${textOf(answer, 'id')}` });
    });
}

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { print } from '../output.ts';
import { partitionsText } from './node-list.ts';

/** `svc node show ID`. */
export function nodeShow(node: Command): void {
  node
    .command('show')
    .description('show a node')
    .argument('<id>', 'node id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const shown = await client.json('GET', `/v1/cluster/nodes/${encodeURIComponent(id)}`, { repeatable: true });
      if (output === 'json' || output === 'yaml') return print(output, { value: shown });
      await print(output, { value: { ...shown, partitions: partitionsText(shown.partitions) } });
    });
}

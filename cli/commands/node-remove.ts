import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { print } from '../output.ts';

/** `svc node remove ID`: forgets a node that is gone, its key included. */
export function nodeRemove(node: Command): void {
  node
    .command('remove')
    .description('forget a node that is gone, with its key and registration')
    .argument('<id>', 'node id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('DELETE', `/v1/cluster/nodes/${encodeURIComponent(id)}`);
      await print(output, { value: answer, text: `removed ${id}` });
    });
}

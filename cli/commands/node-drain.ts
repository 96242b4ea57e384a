import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { print } from '../output.ts';

/** `svc node drain ID`: it hands its partitions over and gets no new work. */
export function nodeDrain(node: Command): void {
  node
    .command('drain')
    .description('let a node hand its partitions over and take no new work')
    .argument('<id>', 'node id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('POST', `/v1/cluster/nodes/${encodeURIComponent(id)}/drain`);
      await print(output, { value: answer, text: `draining ${id}` });
    });
}

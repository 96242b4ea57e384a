import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { isObject, listOf, textOf } from '../json.ts';
import { print } from '../output.ts';
import { partitionsText } from './node-list.ts';

/** `svc node status`: the node that answers, the fleet in numbers, and what nobody serves. */
export function nodeStatus(node: Command): void {
  node
    .command('status')
    .description('show the node at --url, the fleet in numbers, and pools that nobody serves')
    .action(async (_options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const status = await client.json('GET', '/v1/cluster/status', { repeatable: true });
      if (output === 'json' || output === 'yaml') return print(output, { value: status });
      const self = isObject(status.node) ? status.node : {};
      const counts = isObject(status.nodes) ? Object.entries(status.nodes) : [];
      const waiting = listOf(status, 'pools').flatMap((pool) => {
        const reason = textOf(pool.waiting_for, 'reason');
        return reason === '' ? [] : [`${textOf(pool, 'pool')}: ${reason}`];
      });
      await print(output, {
        value: {
          ...self,
          partitions: partitionsText(self.partitions),
          fleet: counts.map(([name, count]) => `${String(count)} ${name}`).join(', '),
          waiting: waiting.length === 0 ? '-' : waiting.join('; '),
          chaos: status.chaos,
        },
      });
    });
}

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { isObject, type JsonObject, listOf } from '../json.ts';
import { print } from '../output.ts';

const COLUMNS = ['node_id', 'status', 'role', 'tags', 'partitions', 'version', 'last_heartbeat_at'];

/** `svc node list`: every node that lives or is registered. */
export function nodeList(node: Command): void {
  node
    .command('list')
    .alias('peers')
    .description('list the nodes of the fleet')
    .option('--status <status>', 'ACTIVE, DRAINING or UNHEALTHY')
    .option('--tag <tag>', 'only nodes with this tag')
    .action(async (options: { status?: string; tag?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = { status: options.status?.toUpperCase(), tag: options.tag };
      const nodes = listOf(await client.json('GET', '/v1/cluster/nodes', { query, repeatable: true }), 'nodes');
      await print(output, { value: nodes, rows: { items: nodes.map(row), columns: COLUMNS } });
    });
}

const row = (node: JsonObject): JsonObject => ({
  ...node,
  tags: Array.isArray(node.tags) && node.tags.length > 0 ? node.tags.join(',') : '-',
  partitions: partitionsText(node.partitions),
});

/** `default 22, system 8`. */
export function partitionsText(partitions: unknown): string {
  const entries = isObject(partitions) ? Object.entries(partitions) : [];
  return entries.length === 0 ? '-' : entries.map(([pool, count]) => `${pool} ${String(count)}`).join(', ');
}

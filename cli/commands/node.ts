import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT } from '../failure.ts';
import { isObject, type JsonObject, listOf, textOf } from '../json.ts';
import { print } from '../output.ts';
import { readText } from '../read-input.ts';

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
function partitionsText(partitions: unknown): string {
  const entries = isObject(partitions) ? Object.entries(partitions) : [];
  return entries.length === 0 ? '-' : entries.map(([pool, count]) => `${pool} ${String(count)}`).join(', ');
}

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

const PATH = '/v1/cluster/config';

/** `svc node config get | set FILE | push`: configuration that controllers manage for all nodes. */
export function nodeConfig(node: Command): void {
  const config = node.command('config').description('configuration for all nodes: get, set, push');
  config
    .command('get')
    .description('print the configuration that controllers manage')
    .action(async (_options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('GET', PATH, { repeatable: true });
      await print(output, { value: answer, text: textOf(answer, 'config_yaml') });
    });
  config
    .command('set')
    .description('set it; every registered node is told with its next heartbeat')
    .argument('<file>', 'YAML; - for standard input')
    .action(async (file: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const body = { type: 'application/yaml', text: await readText(file, 'FILE') };
      const answer = await client.json('PUT', PATH, { body, repeatable: true });
      await print(output, { value: answer, text: `set configuration ${textOf(answer, 'config_hash')}` });
    });
  config
    .command('push')
    .description('push it to every node that can be reached, now')
    .action(async (_options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const items = listOf(await client.json('POST', `${PATH}/push`), 'nodes');
      await print(output, { value: items, rows: { items, columns: ['node_id', 'accepted', 'reason'] } });
      const refused = items.filter(({ accepted }) => accepted !== true).length;
      if (refused > 0) throw new CliFailure(EXIT.conflict, `${refused} of ${items.length} nodes did not take it`);
    });
}

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

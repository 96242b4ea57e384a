import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT } from '../failure.ts';
import { listOf, textOf } from '../json.ts';
import { print } from '../output.ts';
import { readText } from '../read-input.ts';

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

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listOf } from '../json.ts';
import { print } from '../output.ts';

/** `svc agent list`: the newest version of each agent. */
export function agentList(agent: Command): void {
  agent
    .command('list')
    .description('list deployed agents')
    .action(async (_options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const items = listOf(await client.json('GET', '/v1/agents', { repeatable: true }), 'agents');
      await print(output, {
        value: items,
        rows: { items, columns: ['name', 'version', 'status', 'agent_id', 'description'] },
      });
    });
}

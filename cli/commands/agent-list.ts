import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listOf } from '../json.ts';
import { print } from '../output.ts';

/** `svc agent list`: the newest version of each agent. */
export function agentList(agent: Command): void {
  agent
    .command('list')
    .description('list deployed agents')
    .option('--scope <scope>', 'global, or visible for all that can be run; default those of the tenant')
    .option('--status <status>', 'deployed, paused or archived; default all but archived ones')
    .action(async ({ scope, status }: { scope?: string; status?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const items = listOf(
        await client.json('GET', '/v1/agents', { query: { scope, status }, repeatable: true }),
        'agents',
      );
      await print(output, {
        value: items,
        rows: { items, columns: ['name', 'version', 'status', 'scope', 'agent_id', 'description'] },
      });
    });
}

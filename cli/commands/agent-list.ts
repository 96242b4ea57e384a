import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listed } from '../list-pages.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

interface ListOptions {
  readonly scope?: string;
  readonly status?: string;
  readonly limit?: string;
  readonly skip?: string;
}

/** `svc agent list`: the newest version of each agent. */
export function agentList(agent: Command): void {
  agent
    .command('list')
    .description('list deployed agents')
    .option('--scope <scope>', 'global, or visible for all that can be run; default those of the tenant')
    .option('--status <status>', 'deployed, paused or archived; default all but archived ones')
    .option('--limit <count>', 'at most so many; default 1000')
    .option('--skip <count>', 'leave out so many from the start')
    .action(async ({ scope, status, limit, skip }: ListOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const page = { limit: wholeNumber(limit, '--limit', 1), skip: wholeNumber(skip, '--skip', 0) };
      const query = { scope, status, ...page };
      const items = await listed(client, '/v1/agents', 'agents', query);
      await print(output, {
        value: items,
        rows: { items, columns: ['name', 'version', 'status', 'scope', 'agent_id', 'description'] },
      });
    });
}

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { agentId } from '../find-agent.ts';

/** `svc agent export NAME|ID`: the manifest as it was deployed, ready for `svc agent deploy -`. */
export function agentExport(agent: Command): void {
  agent
    .command('export')
    .description('print the manifest of an agent as it was deployed')
    .argument('<agent>', 'name or id')
    .action(async (nameOrId: string, _options: object, command: Command) => {
      const { client } = contextOf(command);
      const id = await agentId(client, nameOrId);
      const headers = { accept: 'application/yaml' };
      process.stdout.write(await client.text('GET', `/v1/agents/${id}/export`, { headers, repeatable: true }));
    });
}

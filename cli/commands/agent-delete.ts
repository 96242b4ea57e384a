import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { agentId } from '../find-agent.ts';
import { print } from '../output.ts';

/** `svc agent delete NAME|ID`: with all its versions. */
export function agentDelete(agent: Command): void {
  agent
    .command('delete')
    .alias('remove')
    .description('delete an agent with all its versions')
    .argument('<agent>', 'name or id')
    .option('--force', 'also while executions of it run; they go on')
    .action(async (nameOrId: string, options: { force?: true }, command: Command) => {
      const { client, output } = contextOf(command);
      const id = await agentId(client, nameOrId);
      const answer = await client.json('DELETE', `/v1/agents/${id}`, {
        query: { force: options.force === true ? 'true' : undefined },
      });
      await print(output, { value: answer, text: `deleted agent ${id}` });
    });
}

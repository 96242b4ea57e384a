import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { agentId } from '../find-agent.ts';
import { printLog } from '../log-pages.ts';

/** `svc agent logs NAME|ID`: what happened to an agent. */
export function agentLogs(agent: Command): void {
  agent
    .command('logs')
    .description('print the log of an agent, oldest first')
    .argument('<agent>', 'name or id')
    .option('--limit <count>', 'at most so many events')
    .option('--offset <count>', 'leave out so many from the start')
    .action(async (nameOrId: string, options: { limit?: string; offset?: string }, command: Command) => {
      const context = contextOf(command);
      await printLog(context, `/v1/agents/${await agentId(context.client, nameOrId)}/logs`, options);
    });
}

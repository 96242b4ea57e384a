import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { agentId } from '../find-agent.ts';
import { isObject } from '../json.ts';
import { listed } from '../list-pages.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';
import { waitingInWords } from '../waiting.ts';

/** `svc task list`: executions, newest first. */
export function taskList(task: Command): void {
  task
    .command('list')
    .description('list executions, newest first')
    .option('--agent <agent>', 'of this agent: name or id')
    .option('--status <status>', 'pending, running, completed, failed or cancelled')
    .option('--limit <count>', 'at most so many; default 20')
    .action(async (options: { agent?: string; status?: string; limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = {
        agent_id: options.agent === undefined ? undefined : await agentId(client, options.agent),
        status: options.status,
        limit: wholeNumber(options.limit, '--limit', 1),
      };
      const items = await listed(client, '/v1/executions', 'executions', query);
      const usual = ['execution_id', 'status', 'iteration_count', 'started_at', 'agent_id'];
      const columns = items.some(({ waiting_for }) => isObject(waiting_for)) ? [...usual, 'waiting_for'] : usual;
      await print(output, { value: items, rows: { items: items.map(waitingInWords), columns } });
    });
}

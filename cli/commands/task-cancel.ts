import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { print } from '../output.ts';

/** `svc task cancel ID`: ends a running execution. */
export function taskCancel(task: Command): void {
  task
    .command('cancel')
    .description('cancel a running execution')
    .argument('<id>', 'execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('POST', `/v1/executions/${encodeURIComponent(id)}/cancel`);
      await print(output, { value: answer, text: `cancelled execution ${id}` });
    });
}

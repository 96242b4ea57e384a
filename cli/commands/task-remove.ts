import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { print } from '../output.ts';

/** `svc task remove ID`: forgets an execution that has ended. */
export function taskRemove(task: Command): void {
  task
    .command('remove')
    .alias('delete')
    .description('remove an execution that has ended')
    .argument('<id>', 'execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('DELETE', `/v1/executions/${encodeURIComponent(id)}`);
      await print(output, { value: answer, text: `removed execution ${id}` });
    });
}

import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { print } from '../output.ts';
import { waitingInWords } from '../waiting.ts';

/** `svc task status ID`: the state of an execution. */
export function taskStatus(task: Command): void {
  task
    .command('status')
    .description('show the state of an execution')
    .argument('<id>', 'execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const status = await client.json('GET', `/v1/executions/${encodeURIComponent(id)}`, { repeatable: true });
      const forMachines = output === 'json' || output === 'yaml';
      await print(output, { value: forMachines ? status : waitingInWords(status) });
    });
}

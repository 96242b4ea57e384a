import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { runPath } from '../live-view-watch.ts';
import { print } from '../output.ts';

/** `svc workflow cancel ID`: ends a run with its children. */
export function workflowCancel(workflow: Command): void {
  workflow
    .command('cancel')
    .description('cancel a workflow execution')
    .argument('<id>', 'execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('POST', `${runPath(id)}/cancel`);
      await print(output, { value: answer, text: `cancelled workflow execution ${id}` });
    });
}

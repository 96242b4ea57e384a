import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { runPath } from '../live-view-watch.ts';
import { print } from '../output.ts';
import { waitingInWords } from '../waiting.ts';

/** `svc workflow status ID`: how a run stands, and what it waits for. */
export function workflowStatus(workflow: Command): void {
  workflow
    .command('status')
    .description('show how a workflow execution stands, and what it waits for')
    .argument('<id>', 'execution id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const run = await client.json('GET', runPath(id), { repeatable: true });
      if (output === 'json' || output === 'yaml') return print(output, { value: run });
      const { state_outputs: _outputs, blackboard: _blackboard, ...short } = waitingInWords(run);
      return print(output, { value: short });
    });
}

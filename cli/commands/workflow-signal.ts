import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { runPath } from '../live-view-watch.ts';
import { print } from '../output.ts';
import { readInput } from '../read-input.ts';

/** `svc workflow signal ID RESPONSE`: answers the approval a run waits for. */
export function workflowSignal(workflow: Command): void {
  workflow
    .command('signal')
    .description('answer what a workflow execution waits for, such as yes or no')
    .argument('<id>', 'execution id')
    .argument('<response>', 'what conditions and human.feedback see; @FILE reads a file, - standard input')
    .action(async (id: string, response: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const json = { response: await readInput(response, 'RESPONSE') };
      const answer = await client.json('POST', `${runPath(id)}/signal`, { json });
      await print(output, { value: answer, text: `signalled workflow execution ${id}` });
    });
}

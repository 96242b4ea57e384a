import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { runPath } from '../live-view-watch.ts';
import { print } from '../output.ts';
import { workflowPath } from '../workflow-path.ts';

/** `svc workflow delete NAME|ID`: all versions; with `--run` the record of a run that has ended. */
export function workflowDelete(workflow: Command): void {
  workflow
    .command('delete')
    .description('delete a workflow with all its versions')
    .argument('<workflow>', 'name or id; with --run an execution id')
    .option('--run', 'remove a workflow execution that has ended instead')
    .option('--force', 'also while executions of it run; they go on')
    .action(async (id: string, options: { run?: true; force?: true }, command: Command) => {
      const { client, output } = contextOf(command);
      const path = options.run ? runPath(id) : await workflowPath(client, id);
      const answer = await client.json('DELETE', path, {
        query: { force: options.force === true ? 'true' : undefined },
      });
      const text = options.run ? `removed workflow execution ${id}` : `deleted workflow ${id}`;
      await print(output, { value: answer, text });
    });
}

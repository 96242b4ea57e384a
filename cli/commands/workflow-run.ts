import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { type RunOptions, startRun, statesOf } from '../live-view-run.ts';
import { watchWorkflow } from '../live-view-watch.ts';
import { print } from '../output.ts';

/** `svc workflow run NAME`: starts a run; `--follow` shows its events, `--wait` its states and then its output. */
export function workflowRun(workflow: Command): void {
  workflow
    .command('run')
    .description('run a deployed workflow')
    .argument('<workflow>', 'name or id')
    .option('--input <json>', 'input, a JSON object; @FILE reads a file, - standard input')
    .option('--intent <text>', 'the goal; @FILE, -')
    .option('--blackboard <json>', 'first entries of the blackboard, a JSON object; @FILE, -')
    .option('--version <version>', 'version of the workflow; default the newest')
    .option('--follow', 'show the events as they come')
    .option('--wait', 'show the states until it ends, then print the output')
    .action(async (nameOrId: string, options: RunOptions & { follow?: true; wait?: true }, command: Command) => {
      const context = contextOf(command);
      const id = await startRun(context.client, nameOrId, options);
      if (!options.follow && !options.wait)
        return print(context.output, { value: { execution_id: id, status: 'started' }, text: id });
      process.stderr.write(`workflow execution ${id}\n`);
      if (options.follow) return watchWorkflow(context, id, { after: 0, show: 'events', states: [] });
      const states = await statesOf(context.client, nameOrId, options.version);
      return watchWorkflow(context, id, { after: 0, show: 'result', states });
    });
}

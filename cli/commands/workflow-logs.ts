import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { isObject, type JsonObject, numberOf, textOf } from '../json.ts';
import { workflowEventLine } from '../live-view-lines.ts';
import { runPath, watchWorkflow } from '../live-view-watch.ts';
import { printLog } from '../log-pages.ts';
import { wholeNumber } from '../read-input.ts';

interface LogOptions {
  readonly follow?: true;
  readonly after?: string;
  readonly limit?: string;
  readonly offset?: string;
}

/** `svc workflow logs ID`: the recorded events; `--follow` shows them as they come, to the end. */
export function workflowLogs(workflow: Command): void {
  workflow
    .command('logs')
    .description('print the log of a workflow execution, oldest first')
    .argument('<id>', 'execution id')
    .option('--follow', 'show the events as they come, until the execution ends')
    .option('--after <number>', 'with --follow: go on behind this event')
    .option('--limit <count>', 'at most so many events')
    .option('--offset <count>', 'leave out so many from the start')
    .action(async (id: string, options: LogOptions, command: Command) => {
      const context = contextOf(command);
      if (!options.follow) return printLog(context, `${runPath(id)}/logs`, options, detailOf);
      const after = Number(wholeNumber(options.after, '--after', 0) ?? 0);
      return watchWorkflow(context, id, { after, show: 'events', states: [] });
    });
}

/** The line that following shows. */
function detailOf(event: JsonObject): string {
  const payload = isObject(event.payload) ? event.payload : {};
  const seen = { id: numberOf(event, 'sequence'), name: textOf(event, 'event_type'), payload, data: '' };
  return workflowEventLine(seen) ?? '';
}

import type { CliContext } from './context.ts';
import { type JsonObject, textOf } from './json.ts';
import { print } from './output.ts';
import { watchExecution } from './watch.ts';

/** What is shown of an execution that was just started: its id, or with `--follow` its events, with `--wait` its result. */
export async function showStarted(
  context: CliContext,
  answer: JsonObject,
  { follow, wait }: { readonly follow?: true; readonly wait?: true },
): Promise<void> {
  const executionId = textOf(answer, 'execution_id');
  if (!follow && !wait) return print(context.output, { value: answer, text: executionId });
  const show = follow ? (wait ? 'both' : 'events') : 'result';
  if (show === 'result') process.stderr.write(`execution ${executionId}\n`);
  return watchExecution(context, executionId, { after: 0, show });
}

import type { Command } from 'commander';
import { type CliContext, contextOf } from '../context.ts';
import { CliFailure, EXIT, invalid } from '../failure.ts';
import { followEvents } from '../follow.ts';
import { textOf } from '../json.ts';
import { startOnce } from '../node-client.ts';
import { print } from '../output.ts';
import { printOne } from '../print-answer.ts';
import { readInput, readObject } from '../read-input.ts';
import { isLastWorkflowEvent } from '../screen/live-view-model.ts';
import { runPath, watchWorkflow } from '../watch-workflow.ts';

interface ExecuteOptions {
  readonly inputs?: string;
  readonly language?: string;
  readonly volume?: string;
  readonly timeoutSeconds?: string;
  readonly follow?: true;
  readonly wait?: true;
}

const pathOf = (id: string): string => `/v1/execute/${encodeURIComponent(id)}`;

/** `svc execute GOAL`: an agent writes a program that reaches the goal, and the node runs it. */
export function execute(program: Command): void {
  const group = program.command('execute').description('reach a goal with a program that an agent writes');
  group
    .command('run', { isDefault: true })
    .description('start it; the word run may be omitted')
    .argument('<goal>', 'the goal in plain words; @FILE reads a file, - standard input')
    .option('--inputs <json>', 'inputs of the program, a JSON object; @FILE or - as above')
    .option('--language <language>', 'python, javascript or bash (default: python)')
    .option('--volume <id>', 'a persistent volume, mounted read-only below /workspace')
    .option('--timeout-seconds <seconds>', 'timeout of the program; your tier sets the maximum')
    .option('--follow', 'show events until it ends')
    .option('--wait', 'wait for the end and print the answer')
    .action(async (goal: string, options: ExecuteOptions, command: Command) => {
      const context = contextOf(command);
      const json = { intent: await readInput(goal, 'GOAL'), ...(await bodyOf(options)) };
      const answer = await context.client.json('POST', '/v1/execute/intent', startOnce(json));
      const id = textOf(answer, 'pipeline_execution_id');
      if (options.follow) return watchWorkflow(context, id, { after: 0, show: 'events', states: [] });
      if (!options.wait) return print(context.output, { value: answer, text: id });
      process.stderr.write(`pipeline execution ${id}\n`);
      return showAnswer(context, id);
    });
  group
    .command('status')
    .description('show the status of an execution, and its answer once there is one')
    .argument('<id>', 'pipeline execution id')
    .action((id: string, _options: object, command: Command) => printOne(command, pathOf(id)));
}

async function bodyOf({ inputs, language, volume, timeoutSeconds }: ExecuteOptions): Promise<object> {
  if (timeoutSeconds !== undefined && !/^[1-9]\d{0,8}$/.test(timeoutSeconds))
    throw invalid(`--timeout-seconds: expected a whole number of seconds, got ${timeoutSeconds}`);
  return {
    inputs: inputs === undefined ? undefined : await readObject(inputs, '--inputs'),
    language,
    volume_id: volume,
    timeout_seconds: timeoutSeconds === undefined ? undefined : Number(timeoutSeconds),
  };
}

/** Waits for the end of the run and prints its answer. Throws when it failed. */
async function showAnswer(context: CliContext, id: string): Promise<void> {
  const { signal } = new AbortController();
  const onCut = (why: string): void => void process.stderr.write(`${why}; reconnecting\n`);
  const source = { path: `${runPath(id)}/stream`, isLast: isLastWorkflowEvent };
  for await (const _event of followEvents(context.client, source, { after: 0, signal, onCut }));
  const answer = await context.client.json('GET', pathOf(id), { repeatable: true });
  if (textOf(answer, 'status') === 'failed') {
    // It may have failed before its first state.
    const parts = [textOf(answer, 'failed_at_state'), textOf(answer, 'reason')].filter((part) => part !== '');
    throw new CliFailure(EXIT.internal, parts.join(': '));
  }
  return print(context.output, { value: answer, text: textOf(answer, 'final_result') });
}
